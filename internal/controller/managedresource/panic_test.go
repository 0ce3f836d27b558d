// SPDX-License-Identifier: Apache-2.0

package managedresource

import (
	"context"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/trellis-network/trellis/test/harness"
)

// panickingSeed has one ManagedResource, and panics when it is patched. It cannot write a
// status.
type panickingSeed struct{ client.Client }

func (panickingSeed) Get(_ context.Context, key client.ObjectKey, object client.Object, _ ...client.GetOption) error {
	object.SetNamespace(key.Namespace)
	object.SetName(key.Name)
	return nil
}

func (panickingSeed) Patch(context.Context, client.Object, client.Patch, ...client.PatchOption) error {
	panic("broken")
}

// A run that panics is counted. It writes no
// status; the panic remains one for controller-runtime.
func TestARunThatPanicsIsReported(t *testing.T) {
	g := NewWithT(t)
	options := Options{Clock: clock.RealClock{}}
	r := newReconciler(panickingSeed{}, nil, nil, nil, options)
	before := harness.Reconciliations(t, options.controllerName(), "stale")
	request := reconcile.Request{NamespacedName: client.ObjectKey{Namespace: "shoot--test--panic", Name: "example"}}
	g.Expect(func() { _, _ = r.Reconcile(t.Context(), request) }).To(PanicWith("broken"))
	g.Expect(harness.Reconciliations(t, options.controllerName(), "stale")).To(Equal(before + 1))
}
