// SPDX-License-Identifier: Apache-2.0

package managedresource

import (
	"context"
	"time"

	"k8s.io/client-go/tools/events"
	testclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	resourcesv1alpha1 "github.com/trellis-network/trellis/api/resources/v1alpha1"
)

// timed is the reconciler of one ManagedResource, at the times of the test. It counts what it
// writes to the status, and keeps up to 1,000 events.
type timed struct {
	*testclock.FakePassiveClock
	reconcile func() (reconcile.Result, error)
	writes    int
	events    chan string
}

// timed returns a reconciler without watches: it reconciles when the test asks for it.
func (e *env) timed(mr *resourcesv1alpha1.ManagedResource, shoots Shoots) *timed {
	recorder := events.NewFakeRecorder(1000)
	r := &timed{FakePassiveClock: testclock.NewFakePassiveClock(time.Now().Truncate(time.Second)), events: recorder.Events}
	counting := interceptor.NewClient(e.seed, interceptor.Funcs{
		SubResourcePatch: func(ctx context.Context, c client.Client, sub string, object client.Object, patch client.Patch, opts ...client.SubResourcePatchOption) error {
			r.writes++
			return c.SubResource(sub).Patch(ctx, object, patch, opts...)
		},
	})
	options := Options{Shoots: shoots, Clock: r, SyncPeriod: time.Hour}
	options.setDefaults()
	reconciler := newReconciler(counting, e.seed, e.seed, recorder, options)
	r.reconcile = func() (reconcile.Result, error) {
		return reconciler.Reconcile(e.ctx, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(mr)})
	}
	return r
}

// pass lets time pass.
func (r *timed) pass(d time.Duration) { r.SetTime(r.Now().Add(d)) }
