// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"context"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// resourceManagerName is under which name objects are PUT.
const resourceManagerName = "gardener-resource-manager"

// finalizer of ManagedResources of the default class.
const finalizer = "resources.gardener.cloud/gardener-resource-manager"

var managedResourceKind = schema.GroupVersionKind{Group: "resources.gardener.cloud", Version: "v1alpha1", Kind: "ManagedResource"}

// resourceManagerOptions are the settings of a resource manager.
type resourceManagerOptions struct {
	// Target is the cluster that objects are applied in.
	Target client.Client
	// Class of the ManagedResources that it carries out; empty is the default one.
	Class string
	// Again is how soon a pass that has deleted something is repeated.
	Again time.Duration
	// Clock is the time in conditions.
	Clock clock.PassiveClock
}

// resourceManager does with ManagedResources what Gardener's resource manager does, as far
// as a network's objects need it: it PUTs whole objects, merges labels and annotations
// three ways by what the status remembers, deletes all obsolete objects before it applies
// anything, and PUTs the status at the end of a pass. Like the gardenlet it goes by the
// contract's names. It does not check the health of objects: what is applied counts as healthy.
type resourceManager struct {
	resourceManagerOptions
	source client.Client
	live   client.Reader

	mutex    sync.Mutex
	held     chan struct{} // closed when nothing holds it; nil is the same
	applied  []appliedPass
	attempts int
	refusal  error
}

// appliedPass is one complete pass.
type appliedPass struct {
	ManagedResource string
	Generation      int64
	Objects         []*unstructured.Unstructured
}

// addResourceManager adds a resource manager for the namespaces that mgr's cache is about.
func addResourceManager(mgr ctrl.Manager, options resourceManagerOptions) (*resourceManager, error) {
	m := &resourceManager{resourceManagerOptions: options, source: mgr.GetClient(), live: mgr.GetAPIReader()}
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(managedResourceKind)
	const fast, slow = 50 * time.Millisecond, 100 * time.Millisecond
	return m, ctrl.NewControllerManagedBy(mgr).
		Named("gardener-resource-manager"+options.Class).
		For(object, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		WatchesMetadata(&corev1.Secret{}, handler.EnqueueRequestsFromMapFunc(m.referring)).
		WithOptions(controller.Options{
			RateLimiter: workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](fast, slow),
		}).
		Complete(m)
}

// Hold makes it do nothing until release is called. What is under way goes on.
func (m *resourceManager) Hold() (release func()) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	held := make(chan struct{})
	m.held = held
	var once sync.Once
	return func() { once.Do(func() { close(held) }) }
}

// Refuse makes each object fail to be applied, for this reason; nil ends that.
func (m *resourceManager) Refuse(reason error) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	m.refusal = reason
}

func (m *resourceManager) refused() error {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	return m.refusal
}

// Attempts is how many passes have ended, whichever way.
func (m *resourceManager) Attempts() int {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	return m.attempts
}

// Applied returns the complete passes so far. A pass is among them before any
// status says so.
func (m *resourceManager) Applied() []appliedPass {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	return append([]appliedPass(nil), m.applied...)
}

func (m *resourceManager) awaitRelease(ctx context.Context) {
	m.mutex.Lock()
	held := m.held
	m.mutex.Unlock()
	if held == nil {
		return
	}
	select {
	case <-held:
	case <-ctx.Done():
	}
}

// Reconcile implements reconcile.Reconciler.
func (m *resourceManager) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	m.awaitRelease(ctx)
	defer func() {
		m.mutex.Lock()
		defer m.mutex.Unlock()
		m.attempts++
	}()
	mr := &unstructured.Unstructured{}
	mr.SetGroupVersionKind(managedResourceKind)
	if err := m.live.Get(ctx, request.NamespacedName, mr); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	class, _, _ := unstructured.NestedString(mr.Object, "spec", "class")
	mine := controllerutil.ContainsFinalizer(mr, m.finalizer())
	switch {
	case mr.GetDeletionTimestamp() != nil || class != m.Class:
		if !mine {
			return reconcile.Result{}, nil
		}
		return m.remove(ctx, mr)
	case m.isOthers(mr):
		return reconcile.Result{RequeueAfter: m.Again}, nil
	case !mine:
		before := mr.DeepCopy()
		controllerutil.AddFinalizer(mr, m.finalizer())
		if err := m.source.Patch(ctx, mr, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
			return reconcile.Result{}, err
		}
	}
	return m.pass(ctx, mr)
}

func (m *resourceManager) finalizer() string {
	if m.Class == "" {
		return finalizer
	}
	return finalizer + "-" + m.Class
}

// isOthers reports whether a resource manager of another class still holds mr.
func (m *resourceManager) isOthers(mr *unstructured.Unstructured) bool {
	for _, each := range mr.GetFinalizers() {
		if strings.HasPrefix(each, finalizer) && each != m.finalizer() {
			return true
		}
	}
	return false
}

// referring returns the ManagedResources that refer to a Secret.
func (m *resourceManager) referring(ctx context.Context, secret client.Object) []reconcile.Request {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(managedResourceKind)
	if err := m.source.List(ctx, list, client.InNamespace(secret.GetNamespace())); err != nil {
		return nil
	}
	var requests []reconcile.Request
	for i := range list.Items {
		for _, name := range secretsOf(&list.Items[i]) {
			if name == secret.GetName() {
				requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&list.Items[i])})
			}
		}
	}
	return requests
}
