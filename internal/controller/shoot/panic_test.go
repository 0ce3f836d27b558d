// SPDX-License-Identifier: Apache-2.0

package shoot

import (
	"context"
	"testing"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	"github.com/trellis-network/trellis/test/harness"
)

// panickingSeed has one Shoot, and panics when it is patched. It cannot write a status.
type panickingSeed struct{ client.Client }

func (panickingSeed) Get(_ context.Context, key client.ObjectKey, object client.Object, _ ...client.GetOption) error {
	shoot, is := object.(*corev1beta1.Shoot)
	if !is {
		return apierrors.NewNotFound(schema.GroupResource{}, key.Name)
	}
	shoot.Namespace, shoot.Name = key.Namespace, key.Name
	return nil
}

func (panickingSeed) Patch(context.Context, client.Object, client.Patch, ...client.PatchOption) error {
	panic("broken")
}

// A run that panics is counted. It writes no status; the panic remains one for
// controller-runtime.
func TestARunThatPanicsIsReported(t *testing.T) {
	g := NewWithT(t)
	s := seed{Client: panickingSeed{}}
	reporter := &reporter{client: s.Client, clock: clock.RealClock{}}
	r := &Reconciler{seed: s, others: &others{seed: s}, identities: identities{s, reporter}, reporter: reporter}
	before := harness.Reconciliations(t, ControllerName, "stale")
	request := reconcile.Request{NamespacedName: client.ObjectKey{Namespace: "garden-test", Name: "example"}}
	g.Expect(func() { _, _ = r.Reconcile(t.Context(), request) }).To(PanicWith("broken"))
	g.Expect(harness.Reconciliations(t, ControllerName, "stale")).To(Equal(before + 1))
}
