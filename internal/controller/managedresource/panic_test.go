// SPDX-License-Identifier: Apache-2.0

package managedresource

import (
	"context"
	"testing"
	"time"

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

// timedSeed notes until when a run may take.
type timedSeed struct {
	panickingSeed
	until time.Time
}

func (s *timedSeed) Patch(ctx context.Context, object client.Object, patch client.Patch, options ...client.PatchOption) error {
	s.until, _ = ctx.Deadline()
	return s.panickingSeed.Patch(ctx, object, patch, options...)
}

// A shoot that answers slowly does not occupy a worker for ever.
func TestTheTimeOfARunIsLimited(t *testing.T) {
	g := NewWithT(t)
	seed := &timedSeed{}
	r := newReconciler(seed, nil, nil, nil, Options{Clock: clock.RealClock{}, SyncPeriod: time.Second})
	request := reconcile.Request{NamespacedName: client.ObjectKey{Namespace: "shoot--test--slow", Name: "example"}}
	g.Expect(func() { _, _ = r.Reconcile(t.Context(), request) }).To(PanicWith("broken"))
	g.Expect(seed.until).To(BeTemporally("~", time.Now().Add(minTimeout), minTimeout/2))
}
