// SPDX-License-Identifier: Apache-2.0

package managedresource

import (
	"context"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	resourcesv1alpha1 "github.com/trellis-network/trellis/api/resources/v1alpha1"
	"github.com/trellis-network/trellis/internal/shootclient"
)

// +kubebuilder:rbac:roleName=standalone/operator,groups=resources.gardener.cloud,resources=managedresources,verbs=get;list;watch;patch
// +kubebuilder:rbac:roleName=standalone/operator,groups=resources.gardener.cloud,resources=managedresources/status,verbs=patch
//
// What bundles for the seed contain, in control-plane namespaces.
//
// +kubebuilder:rbac:roleName=standalone/operator,groups="",resources=configmaps,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:roleName=standalone/operator,groups=monitoring.coreos.com,resources=prometheusrules;scrapeconfigs,verbs=get;list;watch;create;patch;delete

// Add adds the controller to a manager.
func Add(mgr manager.Manager, options Options) error {
	options.setDefaults()
	options.Shoots.Declare(typedKinds...)
	r := newReconciler(mgr.GetClient(), mgr.GetCache(), mgr.GetAPIReader(), mgr.GetEventRecorder("trellis-managedresource"), options)
	return builder.ControllerManagedBy(mgr).
		Named(options.controllerName()).
		For(&resourcesv1alpha1.ManagedResource{}, builder.WithPredicates(exceptStatus())).
		WatchesMetadata(&corev1.Secret{}, handler.EnqueueRequestsFromMapFunc(requestsForSecret(mgr.GetClient()))).
		WatchesRawSource(options.Shoots.Source(r.requestsForEvent)).
		WithOptions(controller.Options{
			MaxConcurrentReconciles: options.MaxConcurrentReconciles,
			RateLimiter: workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](
				firstRetry, lastRetry),
		}).
		Complete(r)
}

// exceptStatus drops the updates that only change the status: the controller is the
// one that writes it.
func exceptStatus() predicate.Predicate {
	return predicate.Or(predicate.GenerationChangedPredicate{}, predicate.AnnotationChangedPredicate{}, predicate.Funcs{
		UpdateFunc: func(e event.UpdateEvent) bool {
			return !slices.Equal(e.ObjectOld.GetFinalizers(), e.ObjectNew.GetFinalizers())
		},
	})
}

// requestsForSecret returns the ManagedResources that refer to a Secret, or all in its
// namespace if it has the kubeconfig of the shoot.
func requestsForSecret(cached client.Reader) handler.MapFunc {
	return func(ctx context.Context, secret client.Object) (requests []reconcile.Request) {
		list := &resourcesv1alpha1.ManagedResourceList{}
		if err := cached.List(ctx, list, client.InNamespace(secret.GetNamespace())); err != nil {
			return nil
		}
		for i := range list.Items {
			mr := &list.Items[i]
			if secret.GetName() == shootclient.SecretName ||
				slices.Contains(mr.Spec.SecretRefs, corev1.LocalObjectReference{Name: secret.GetName()}) {
				requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(mr)})
			}
		}
		return requests
	}
}

// requestsForEvent returns the ManagedResource of a changed object, and none if the
// object's origin is another seed. Deletions and edits are corrected immediately, or
// statusGatherTime after the last one that was: in a cluster they may come without end. While all
// objects are being deleted, the next ones are deleted soon after the end of others.
func (r *Reconciler) requestsForEvent(e shootclient.Event) ([]reconcile.Request, time.Duration) {
	owner, ok := parseOrigin(e.Origin)
	if !ok || owner.Namespace != e.Namespace {
		return nil, 0
	}
	after, now := statusGatherTime, r.options.Clock.Now()
	if limiter, deleting := r.deletions.Get(owner); deleting && e.Change == shootclient.Deleted && limiter.AllowN(now, 1) {
		after = deletionGatherTime
	} else if e.Change != shootclient.StatusChanged && e.Change != shootclient.Created {
		r.triggered.Update(owner, func(last time.Time, _ bool) (time.Time, bool) {
			if after -= now.Sub(last); after <= 0 {
				after, last = 0, now
			}
			return last, true
		})
	}
	return []reconcile.Request{{NamespacedName: owner}}, after
}
