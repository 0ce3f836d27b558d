// SPDX-License-Identifier: Apache-2.0

package shoot_test

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	reconcilers "sigs.k8s.io/controller-runtime/pkg/reconcile"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	resourcesv1alpha1 "github.com/trellis-network/trellis/api/resources/v1alpha1"
)

// Invariant 6: the process dies after any of its writes, first while it creates
// and then while it deletes; the next one ends in the same state.
func TestADeathBetweenAnyTwoWritesDoesNoHarm(t *testing.T) {
	const mostWrites = 12
	for k := 1; k <= mostWrites; k++ {
		t.Run(fmt.Sprintf("after write %d", k), func(t *testing.T) {
			e := project(t)
			violations := e.playOthers()
			e.kubeconfig(kubeconfig)

			s := e.shoot()
			e.dieAfter(k, func() { e.becomes(s, create, succeeded) })
			e.Expect(e.finalState()).To(Equal(finished))

			e.Expect(e.client.Delete(t.Context(), s)).To(Succeed())
			e.dieAfter(k, func() { e.gone(s) })
			e.gone(e.cluster())
			e.gone(e.controlPlaneNamespace())
			e.Expect(violations()).To(BeEmpty())
		})
	}
}

// dieAfter runs the controller until it dies of its k-th write or nothing more
// happens, then runs another until the end is reached.
func (e *env) dieAfter(k int, end func()) {
	e.t.Helper()
	e.requests.reset(int64(k))
	e.start()
	for calm := false; !calm && !e.requests.dead.Load(); {
		before := len(e.requests.All())
		calm = !e.moves(before)
	}
	e.stop()
	e.requests.reset(0)
	e.start()
	end()
	e.stop()
	e.stop = func() {}
}

// moves reports whether the controller dies or sends a request within a second.
func (e *env) moves(before int) bool {
	ticks := time.NewTicker(20 * time.Millisecond)
	defer ticks.Stop()
	for range 50 {
		if e.requests.dead.Load() || len(e.requests.All()) != before {
			return true
		}
		<-ticks.C
	}
	return false
}

const finished = "Network, Cluster, access, prerequisites, technicalID"

// finalState lists what there is of what there has to be.
func (e *env) finalState() string {
	s := &corev1beta1.Shoot{ObjectMeta: metav1.ObjectMeta{Name: "example", Namespace: e.project}}
	for _, object := range []client.Object{e.network(), e.cluster(), e.access(), e.prerequisites(), s} {
		if err := e.client.Get(e.t.Context(), keyOf(object), object); err != nil {
			return err.Error()
		}
	}
	if s.Status.TechnicalID != e.controlPlane {
		return "technicalID is " + s.Status.TechnicalID
	}
	return finished
}

// playOthers plays the controllers of Networks and of ManagedResources. It
// returns what they missed when they wanted to clean up.
func (e *env) playOthers() (violations func() []string) {
	var mutex sync.Mutex
	var missed []string
	miss := func(err error) {
		mutex.Lock()
		defer mutex.Unlock()
		missed = append(missed, err.Error())
	}
	reader := e.client
	stop := e.run(nil, func(mgr manager.Manager) error {
		network := reconcilers.Func(func(ctx context.Context, r reconcilers.Request) (reconcilers.Result, error) {
			n := &extensionsv1alpha1.Network{}
			if err := reader.Get(ctx, r.NamespacedName, n); err != nil {
				return reconcilers.Result{}, client.IgnoreNotFound(err)
			}
			cluster, inside := e.cluster(), &corev1beta1.Shoot{}
			if err := reader.Get(ctx, keyOf(cluster), cluster); !n.DeletionTimestamp.IsZero() && err != nil {
				miss(err)
			}
			before := n.DeepCopy()
			if json.Unmarshal(cluster.Spec.Shoot.Raw, inside) == nil {
				note(n, inside.Generation)
			}
			n.Status.ObservedGeneration = n.Generation
			n.Status.LastOperation = &corev1beta1.LastOperation{Type: create, State: succeeded, LastUpdateTime: metav1.Unix(1, 0)}
			return play(ctx, reader, n, before, extensionsv1alpha1.NetworkFinalizer)
		})
		resources := reconcilers.Func(func(ctx context.Context, r reconcilers.Request) (reconcilers.Result, error) {
			m := &resourcesv1alpha1.ManagedResource{}
			if err := reader.Get(ctx, r.NamespacedName, m); err != nil {
				return reconcilers.Result{}, client.IgnoreNotFound(err)
			}
			if err := reader.Get(ctx, keyOf(e.access()), e.access()); !m.DeletionTimestamp.IsZero() && err != nil {
				miss(err)
			}
			before := m.DeepCopy()
			m.Status.ObservedGeneration = m.Generation
			m.Status.Conditions = []corev1beta1.Condition{{
				Type: resourcesv1alpha1.ResourcesApplied, Status: corev1beta1.ConditionTrue,
				LastTransitionTime: metav1.Unix(1, 0), LastUpdateTime: metav1.Unix(1, 0)}}
			return play(ctx, reader, m, before, resourceManagerFinalizer)
		})
		networksOf := handler.EnqueueRequestsFromMapFunc(func(_ context.Context, cluster client.Object) []reconcilers.Request {
			if cluster.GetName() != e.controlPlane {
				return nil // another test's
			}
			return []reconcilers.Request{{NamespacedName: keyOf(e.network())}}
		})
		err := builder.ControllerManagedBy(mgr).Named("network").For(&extensionsv1alpha1.Network{}).
			Watches(&extensionsv1alpha1.Cluster{}, networksOf).Complete(network)
		if err != nil {
			return err
		}
		return builder.ControllerManagedBy(mgr).Named("managedresource").For(&resourcesv1alpha1.ManagedResource{}).Complete(resources)
	})
	return func() []string { stop(); return missed }
}

// play writes the status, and holds the object by a finalizer until it is deleted.
func play(ctx context.Context, c client.Client, object, before client.Object, finalizer string) (reconcilers.Result, error) {
	held := object.DeepCopyObject().(client.Object)
	if object.GetDeletionTimestamp().IsZero() {
		if err := client.IgnoreNotFound(c.Status().Patch(ctx, object, client.MergeFrom(before))); err != nil {
			return reconcilers.Result{}, err
		}
		controllerutil.AddFinalizer(held, finalizer)
	} else {
		controllerutil.RemoveFinalizer(held, finalizer)
	}
	return reconcilers.Result{}, client.IgnoreNotFound(c.Patch(ctx, held, client.MergeFrom(before)))
}
