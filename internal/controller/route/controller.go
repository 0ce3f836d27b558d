// SPDX-License-Identifier: Apache-2.0

// Package route makes routes to the pods of nodes in the route tables of infrastructures, for
// clusters whose Network or Shoot asks for it (extensionsv1alpha1.PodRoutesAnnotation), on the
// infrastructures that the operator's configuration lists. Each node gets one route for each of its
// spec.podCIDRs in each table, which is removed with the node. The node's condition
// NetworkUnavailable is False with the reason RouteCreated while all of them are seen to be there.
//
// The package does not know any infrastructure (see providers/routes), nor what networks need routes
// for. What it reports of a Network reaches the status by Board, a source of controller/networkstatus.
package route

import (
	"context"
	"net/http"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/internal/budget"
	"github.com/trellis-network/trellis/internal/keyed"
	"github.com/trellis-network/trellis/internal/shootclient"
	"github.com/trellis-network/trellis/internal/slots"
	"github.com/trellis-network/trellis/providers/routes"
)

// ControllerName is the controller's name in logs and metrics, as in the operator's configuration
// (controllers.podRoutes).
const ControllerName = "podroutes"

// Infrastructure is one on which the controller makes routes.
type Infrastructure struct {
	routes.Provider
	// Limit is how many routes of one IP family a table takes; 0 means what the provider states.
	Limit int
}

// Options are the controller's settings. All but Serves, IsOthers, Standalone and Wrap must be set.
type Options struct {
	// Infrastructures are those on which the controller makes routes, by type.
	Infrastructures map[string]Infrastructure
	// Shoots gives access to shoots, and reports when a node changes there.
	Shoots *shootclient.Clients
	// Secrets reads the Secrets with the credentials. It should not be a cache.
	Secrets client.Reader
	// Board gets what is to be reported.
	Board *Board
	// Serves reports whether the operator has a plugin for a type of networks; nil means all.
	Serves func(networkType string) bool
	// IsOthers reports whether another operator looks after the control plane in a namespace; nil
	// means that there is none.
	IsOthers func(ctx context.Context, namespace string) bool
	// Standalone means that the credentials are beside the Shoot, as those for its infrastructure.
	Standalone bool
	// Wrap sees all requests to infrastructures.
	Wrap func(http.RoundTripper) http.RoundTripper
	// Clock is the source of time.
	Clock clock.PassiveClock
	// Period is how often the routes of each cluster are compared with its nodes.
	Period time.Duration
	// MaxConcurrentReconciles is how many clusters get routes at once.
	MaxConcurrentReconciles int
}

// nodes declares what the controller reads of nodes. A node whose ranges, machine or route have
// changed is an event.
var nodes = shootclient.Watch{
	Kind: corev1.SchemeGroupVersion.WithKind("Node"), Selector: labels.Everything(), Typed: true,
	Relevant: func(before, after client.Object) bool {
		one, okOne := before.(*corev1.Node)
		two, okTwo := after.(*corev1.Node)
		return !okOne || !okTwo || !slices.Equal(one.Spec.PodCIDRs, two.Spec.PodCIDRs) || one.Spec.ProviderID != two.Spec.ProviderID ||
			isRouteCreated(one) != isRouteCreated(two)
	},
}

// +kubebuilder:rbac:roleName=gardener/operator,groups=extensions.gardener.cloud,resources=networks,verbs=list;watch;patch
// +kubebuilder:rbac:roleName=gardener/operator,groups=extensions.gardener.cloud,resources=clusters,verbs=list;watch
// +kubebuilder:rbac:roleName=gardener/operator,groups="",resources=secrets,verbs=get;list;watch
// +kubebuilder:rbac:roleName=standalone/operator,groups=extensions.gardener.cloud,resources=networks,verbs=list;watch;patch
// +kubebuilder:rbac:roleName=standalone/operator,groups=extensions.gardener.cloud,resources=clusters,verbs=list;watch
// +kubebuilder:rbac:roleName=standalone/operator,groups="",resources=secrets,verbs=get;list;watch

// Add registers the controller with mgr, the manager of the seed.
func Add(mgr manager.Manager, options Options) error {
	r := &reconciler{
		client: mgr.GetClient(), recorder: mgr.GetEventRecorder("trellis-pod-routes"), options: options,
		slots:    slots.New(slots.For(options.MaxConcurrentReconciles)),
		failures: workqueue.NewTypedItemExponentialFailureRateLimiter[types.NamespacedName](firstRetry, lastRetry),
	}
	options.Shoots.Declare(nodes)
	ofNamespace := func(namespace func(client.Object) string) handler.EventHandler {
		return handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, object client.Object) []reconcile.Request {
			return r.networksIn(ctx, namespace(object))
		})
	}
	return builder.ControllerManagedBy(mgr).
		Named(ControllerName).
		For(&extensionsv1alpha1.Network{}, builder.WithPredicates(exceptStatus())).
		Watches(&extensionsv1alpha1.Cluster{}, ofNamespace(client.Object.GetName), builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		WatchesMetadata(&corev1.Secret{}, ofNamespace(client.Object.GetNamespace), builder.WithPredicates(predicate.NewPredicateFuncs(func(secret client.Object) bool {
			return secret.GetName() == credentialsName || shootclient.GivesAccess(secret.GetName())
		}))).
		WatchesRawSource(options.Shoots.Source(func(event shootclient.Event) ([]reconcile.Request, time.Duration) {
			if event.Kind != nodes.Kind {
				return nil, 0
			}
			return r.networksIn(context.Background(), event.Namespace), batchPeriod
		})).
		WithOptions(controller.Options{MaxConcurrentReconciles: options.MaxConcurrentReconciles}).
		Complete(r)
}

// exceptStatus drops the updates that only change the status, which many controllers write.
func exceptStatus() predicate.Predicate {
	return predicate.Or(predicate.GenerationChangedPredicate{}, predicate.AnnotationChangedPredicate{}, predicate.Funcs{
		UpdateFunc: func(e event.UpdateEvent) bool {
			return !slices.Equal(e.ObjectOld.GetFinalizers(), e.ObjectNew.GetFinalizers()) ||
				e.ObjectOld.GetDeletionTimestamp().IsZero() != e.ObjectNew.GetDeletionTimestamp().IsZero()
		},
	})
}

// networksIn returns requests for the Networks in a control-plane namespace.
func (r *reconciler) networksIn(ctx context.Context, namespace string) []reconcile.Request {
	list := &extensionsv1alpha1.NetworkList{}
	if err := r.client.List(ctx, list, client.InNamespace(namespace)); err != nil {
		return nil
	}
	requests := make([]reconcile.Request, len(list.Items))
	for i := range list.Items {
		requests[i].NamespacedName = client.ObjectKeyFromObject(&list.Items[i])
	}
	return requests
}

type reconciler struct {
	client   client.Client
	recorder events.EventRecorder
	options  Options
	slots    *slots.Slots
	failures workqueue.TypedRateLimiter[types.NamespacedName]
	// passes is when the last pass over a Network began, and told the reasons that it has reported.
	passes keyed.Map[types.NamespacedName, time.Time]
	told   keyed.Map[types.NamespacedName, []string]
	// budget limits the events that clusters decide about.
	budget budget.Budget
}

func (r *reconciler) forget(network types.NamespacedName) {
	r.failures.Forget(network)
	r.passes.Delete(network)
	r.told.Delete(network)
	r.budget.Forget(network)
	r.slots.Forget(network.Namespace)
	r.options.Board.Forget(network)
}
