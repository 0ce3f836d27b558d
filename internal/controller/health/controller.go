// SPDX-License-Identifier: Apache-2.0

package health

import (
	"context"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	resourcesv1alpha1 "github.com/trellis-network/trellis/api/resources/v1alpha1"
	"github.com/trellis-network/trellis/internal/shootclient"
	"github.com/trellis-network/trellis/internal/state"
)

// ControllerName is the controller's name in logs and metrics.
const ControllerName = "health"

// gather is how long further events are gathered after one: during a rollout a
// workload's status changes all the time.
const gather = time.Second

// Options are the controller's settings. Only Clients must be set.
type Options struct {
	// Clients gives access to shoots, and tells when a workload there changes.
	Clients *shootclient.Clients
	// Clock tells the time; nil means the real one.
	Clock clock.PassiveClock
	// Period is how often each Network is looked at; 0 means 30 seconds, as in
	// Gardener's health checks.
	Period time.Duration
	// ProgressingThreshold is how long a network may be unhealthy before its
	// condition turns from Progressing to False; 0 means 5 minutes.
	ProgressingThreshold time.Duration
	// MaxConcurrentReconciles is how many Networks are looked at at once; 0 means 5.
	MaxConcurrentReconciles int
}

func (o *Options) setDefaults() {
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	if o.Period == 0 {
		o.Period = 30 * time.Second
	}
	if o.ProgressingThreshold == 0 {
		o.ProgressingThreshold = 5 * time.Minute
	}
	if o.MaxConcurrentReconciles == 0 {
		o.MaxConcurrentReconciles = 5
	}
}

// lookTimeout bounds how long is looked at one network.
func (o *Options) lookTimeout() time.Duration { return max(o.Period, 30*time.Second) }

// +kubebuilder:rbac:groups=extensions.gardener.cloud,resources=networks,verbs=get;list;watch
// +kubebuilder:rbac:groups=extensions.gardener.cloud,resources=networks/status,verbs=patch
// +kubebuilder:rbac:groups=extensions.gardener.cloud,resources=clusters,verbs=get;list;watch
// +kubebuilder:rbac:groups=resources.gardener.cloud,resources=managedresources,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=secrets,verbs=get;list;watch

// Add registers the controller with mgr, the manager of the seed.
func Add(mgr manager.Manager, opts Options) error {
	opts.setDefaults()
	r := &reconciler{client: mgr.GetClient(), options: opts}
	ofCluster := handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, cluster client.Object) []reconcile.Request {
		return r.networksIn(ctx, cluster.GetName())
	})
	ofNamespace := handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, object client.Object) []reconcile.Request {
		return r.networksIn(ctx, object.GetNamespace())
	})
	ofWorkload := opts.Clients.Source(func(event shootclient.Event) ([]reconcile.Request, time.Duration) {
		if event.Kind.Group != appsv1.GroupName {
			return nil, 0
		}
		return r.networksIn(context.Background(), event.Namespace), gather
	})
	return builder.ControllerManagedBy(mgr).
		Named(ControllerName).
		For(&extensionsv1alpha1.Network{}).
		Watches(&extensionsv1alpha1.Cluster{}, ofCluster).
		WatchesMetadata(&corev1.Secret{}, ofNamespace, builder.WithPredicates(givesAccess())).
		Watches(&resourcesv1alpha1.ManagedResource{}, ofNamespace, builder.WithPredicates(appliedOtherwise())).
		WatchesRawSource(ofWorkload).
		WithOptions(controller.Options{MaxConcurrentReconciles: opts.MaxConcurrentReconciles}).
		Complete(r)
}

// networksIn are the Networks in a control-plane namespace.
func (r *reconciler) networksIn(ctx context.Context, namespace string) []reconcile.Request {
	list := &extensionsv1alpha1.NetworkList{}
	if err := r.client.List(ctx, list, client.InNamespace(namespace)); err != nil {
		return nil
	}
	requests := make([]reconcile.Request, 0, len(list.Items))
	for i := range list.Items {
		requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&list.Items[i])})
	}
	return requests
}

type reconciler struct {
	client     client.Client
	options    Options
	statements statements
	lapses     lapses
	rollouts   rollouts
}

// Reconcile looks at one network and reports what it sees. It comes back after
// the period, or when a threshold is reached.
func (r *reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	network := &extensionsv1alpha1.Network{}
	if err := r.client.Get(ctx, request.NamespacedName, network); err != nil {
		r.statements.forget(request.NamespacedName)
		r.lapses.forget(request.NamespacedName)
		r.rollouts.forget(request.NamespacedName)
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if isMoving(network) {
		return reconcile.Result{}, nil
	}
	kept, err := state.Decode(network.Status.State)
	if err != nil || len(kept.Components) == 0 {
		// Another extension's Network, or one of which nothing is deployed yet:
		// what nobody measures is absent.
		return reconcile.Result{}, nil
	}
	limited, cancel := context.WithTimeout(ctx, r.options.lookTimeout())
	defer cancel()
	seen, err := r.look(limited, network, kept.Components)
	if err != nil {
		return reconcile.Result{}, err
	}
	now := r.options.Clock.Now()
	wanted, again := r.next(network, seen, now)
	if err := r.write(ctx, network, wanted, seen.components); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if seen.asleep && wanted.Message == shortened(seen.message) {
		// Nothing changes before the Cluster does.
		again = 0
	}
	return reconcile.Result{RequeueAfter: again}, nil
}

// isMoving says that the Network is being deleted, or that its control plane is on its
// way from or to another seed.
func isMoving(network *extensionsv1alpha1.Network) bool {
	switch network.Annotations[extensionsv1alpha1.OperationAnnotation] {
	case extensionsv1alpha1.OperationMigrate, extensionsv1alpha1.OperationWaitForState:
		return true
	}
	last := network.Status.LastOperation
	return !network.DeletionTimestamp.IsZero() || last != nil && last.Type == corev1beta1.LastOperationTypeMigrate
}
