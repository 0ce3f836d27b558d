// SPDX-License-Identifier: Apache-2.0

package network

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/internal/outcome"
	"github.com/trellis-network/trellis/internal/state"
	"github.com/trellis-network/trellis/pipeline"
	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/test/harness"
)

// panickingSeed has one Network, and panics when another object is read. It cannot write.
type panickingSeed struct{ client.Client }

func (panickingSeed) Get(_ context.Context, key client.ObjectKey, object client.Object, _ ...client.GetOption) error {
	network, is := object.(*extensionsv1alpha1.Network)
	if !is {
		panic("broken")
	}
	network.Namespace, network.Name, network.ResourceVersion = key.Namespace, key.Name, "7"
	return nil
}

// A run that panics is concluded, too: it is counted, and the next run does not start from
// an older Network. It writes no status; the panic remains one for controller-runtime.
func TestARunThatPanicsIsConcluded(t *testing.T) {
	g := NewWithT(t)
	built, err := pipeline.New([]plugin.Plugin{{}}, nil)
	g.Expect(err).NotTo(HaveOccurred())
	r := newReconciler(panickingSeed{}, nil, nil, nil, Options{Pipeline: built, Timeout: time.Minute, Clock: clock.RealClock{}})
	before := harness.Reconciliations(t, "network", "stale")
	name := client.ObjectKey{Namespace: "shoot--test--panic", Name: "example"}
	g.Expect(func() { _, _ = r.Reconcile(t.Context(), ctrl.Request{NamespacedName: name}) }).To(PanicWith("broken"))
	g.Expect(harness.Reconciliations(t, "network", "stale")).To(Equal(before + 1))
	g.Expect(r.networks.Late(name, func(string) string { return "6" })).To(BeTrue())
}

// Nor does one that panics after everything was applied: the panic is an error as in any other
// stage, and no success.
func TestAPanicAfterEverythingWasAppliedIsNoSuccess(t *testing.T) {
	g := NewWithT(t)
	built, err := pipeline.New([]plugin.Plugin{{}}, nil)
	g.Expect(err).NotTo(HaveOccurred())
	r := newReconciler(panickingSeed{}, nil, nil, nil, Options{Pipeline: built, Timeout: time.Minute, Clock: clock.RealClock{}})
	run := newRun(&extensionsv1alpha1.Network{}, built)
	run.State, run.applied = &state.State{Written: &state.Written{Config: &pipeline.Applied{Config: []byte("{}")}}}, true
	ended := r.report(t.Context(), run, outcome.Panicked()) // a status that it wrote would panic
	g.Expect(ended.IsPanic()).To(BeTrue())
	g.Expect(run.Network.Status.LastOperation).To(BeNil())
}
