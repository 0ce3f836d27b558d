// SPDX-License-Identifier: Apache-2.0

package robustness

import (
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trellis-network/trellis/plugins"
)

// between is the write at which each process is killed.
const between = 9

// The operator creates a real network, with CRDs and objects of their kinds, although every
// process dies after a few writes. The test cannot compare it with an undisturbed run, since
// both would have the same cluster-scoped objects. Instead the network must be complete, and
// the last process must find nothing to do.
func TestARealNetworkDespiteKills(t *testing.T) {
	t.Parallel()
	w := newWorld(t, byEdit, plugins.All()...)
	w.kindsChange = true
	n := w.network("", "")
	n.Spec.Type, n.Spec.ProviderConfig = "calico", nil
	w.Expect(w.api.client.Create(w.ctx, n)).To(Succeed())
	p := w.start(disturbance{killAt: between})
	w.Eventually(func() bool {
		if p.hasDied() {
			p.stop()
			ran.kills.Add(1)
			p = w.start(disturbance{killAt: between})
		}
		n := w.read()
		return n.Status.LastOperation != nil && n.Status.LastOperation.State == "Succeeded"
	}).WithPolling(pause).Should(BeTrue())
	p.stop()
	p = w.start(disturbance{})
	w.calm()
	w.awaitHealth()
	w.tidied()
	w.awaitQuiet(atRest)
	mr := w.managed("extension-networking-calico-config")
	w.Expect(mr).NotTo(BeNil())
	w.Expect(len(mr.Status.Resources)).To(BeNumerically(">", 20))
	for _, ref := range mr.Status.Resources {
		object := &unstructured.Unstructured{}
		object.SetGroupVersionKind(schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind))
		w.Expect(w.api.client.Get(w.ctx, client.ObjectKey{Namespace: ref.Namespace, Name: ref.Name}, object)).To(Succeed(), ref.Name)
	}
	for _, one := range w.written() {
		if one.landed() {
			w.Expect(inventoryFirst(w.written(), one, nil)).To(BeEmpty(), one.String())
			w.Expect(finalizerFirst(w.written(), one, nil)).To(BeEmpty(), one.String())
		}
	}
	p.stop()
	before := len(w.written())
	w.start(disturbance{})
	w.calm()
	w.Expect(w.written().unexpected(before)).To(BeEmpty(), "the next process must have nothing to do")
	ran.scenarios.Add(1)
}
