// SPDX-License-Identifier: Apache-2.0

package shoot

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
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
	"github.com/trellis-network/trellis/internal/seed"
	"github.com/trellis-network/trellis/pipeline"
)

// ControllerName is the controller's name in logs and metrics.
const ControllerName = "shoot"

// Options are the controller's settings. The zero value is usable.
type Options struct {
	// Clock tells the time that goes into statuses; nil means the real one.
	Clock clock.PassiveClock
	// MaxConcurrentReconciles is how many Shoots are worked on at once; 0 means 5.
	MaxConcurrentReconciles int
}

// byControlPlane is the index of Shoots by their control-plane namespace. Two
// Shoots can have the same; then one of them is refused.
const byControlPlane = "trellis.network/control-plane-namespace"

// +kubebuilder:rbac:groups=core.gardener.cloud,resources=shoots,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=core.gardener.cloud,resources=shoots/status,verbs=patch
// +kubebuilder:rbac:groups=extensions.gardener.cloud,resources=clusters,verbs=get;list;watch;create;update;delete
// +kubebuilder:rbac:groups=extensions.gardener.cloud,resources=networks,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=resources.gardener.cloud,resources=managedresources,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups="",resources=namespaces,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups="",resources=secrets,verbs=get;list;watch;create;patch;delete

// Add registers the controller with mgr, whose cluster is garden and seed in one.
func Add(mgr manager.Manager, opts Options) error {
	if opts.Clock == nil {
		opts.Clock = clock.RealClock{}
	}
	if opts.MaxConcurrentReconciles == 0 {
		opts.MaxConcurrentReconciles = 5
	}
	index := func(o client.Object) []string {
		return []string{pipeline.ControlPlaneNamespace(o.(*corev1beta1.Shoot))}
	}
	if err := mgr.GetFieldIndexer().IndexField(context.Background(), &corev1beta1.Shoot{}, byControlPlane, index); err != nil {
		return fmt.Errorf("index Shoots by their control-plane namespace: %w", err)
	}
	r := &reconciler{client: mgr.GetClient(), secrets: mgr.GetCache(), live: mgr.GetAPIReader(), clock: opts.Clock}
	ofNamespace := func(o client.Object) string { return o.GetNamespace() }
	ofName := func(o client.Object) string { return o.GetName() }
	return builder.ControllerManagedBy(mgr).
		Named(ControllerName).
		For(&corev1beta1.Shoot{}).
		Watches(&extensionsv1alpha1.Network{}, r.shootsOf(ofNamespace)).
		Watches(&extensionsv1alpha1.Cluster{}, r.shootsOf(ofName)).
		Watches(&resourcesv1alpha1.ManagedResource{}, r.shootsOf(ofNamespace), builder.WithPredicates(tellingOrGone())).
		WatchesMetadata(&corev1.Namespace{}, r.shootsOf(ofName)).
		WatchesMetadata(&corev1.Secret{}, handler.EnqueueRequestsFromMapFunc(r.shootsOfSecret)).
		WithOptions(controller.Options{MaxConcurrentReconciles: opts.MaxConcurrentReconciles}).
		Complete(r)
}

// shootsOf maps an object to the Shoots whose control-plane namespace it belongs to.
func (r *reconciler) shootsOf(namespaceOf func(client.Object) string) handler.EventHandler {
	return handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, o client.Object) []reconcile.Request {
		return r.shootsIn(ctx, namespaceOf(o))
	})
}

// shootsIn are the Shoots that claim a control-plane namespace, or else the one
// that it says it belongs to.
func (r *reconciler) shootsIn(ctx context.Context, controlPlane string) []reconcile.Request {
	shoots := &corev1beta1.ShootList{}
	if err := r.client.List(ctx, shoots, client.MatchingFields{byControlPlane: controlPlane}); err != nil {
		return nil
	}
	if len(shoots.Items) == 0 {
		if owner, known := r.ownerOf(ctx, controlPlane); known {
			return []reconcile.Request{{NamespacedName: owner}}
		}
	}
	requests := make([]reconcile.Request, 0, len(shoots.Items))
	for i := range shoots.Items {
		requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&shoots.Items[i])})
	}
	return requests
}

// shootsOfSecret maps a user's kubeconfig Secret and the copy of it to the Shoot.
func (r *reconciler) shootsOfSecret(ctx context.Context, o client.Object) []reconcile.Request {
	if o.GetName() == accessSecret {
		return r.shootsIn(ctx, o.GetNamespace())
	}
	if name, is := strings.CutSuffix(o.GetName(), userSecretSuffix); is && name != "" {
		return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: o.GetNamespace(), Name: name}}}
	}
	return nil
}

// reconciler carries out Shoots.
type reconciler struct {
	// client reads from caches, and writes.
	client client.Client
	// secrets reads the metadata of Secrets from the cache, which the client may
	// be told not to do.
	secrets client.Reader
	// live reads what caches must not hold (Secrets' content), and what they must
	// not be late with (whether something is gone).
	live   client.Reader
	clock  clock.PassiveClock
	access accessMemory
}

// Reconcile makes one pass over a Shoot. What it waits for wakes it by an event.
func (r *reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	shoot := &corev1beta1.Shoot{}
	if err := r.client.Get(ctx, request.NamespacedName, shoot); err != nil {
		if !apierrors.IsNotFound(err) {
			return reconcile.Result{}, err
		}
		return reconcile.Result{}, r.abandoned(ctx, request.NamespacedName)
	}
	op, err := r.begin(ctx, shoot)
	if err != nil || op == nil {
		return reconcile.Result{}, err
	}
	end := op.run(ctx)
	if seed.IsStale(end.err) {
		return reconcile.Result{RequeueAfter: staleRetry}, nil
	}
	if op.released {
		return reconcile.Result{}, nil
	}
	if err := op.report(ctx, end); err != nil {
		if seed.IsStale(err) {
			return reconcile.Result{RequeueAfter: staleRetry}, nil
		}
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	return reconcile.Result{}, retryable(end.err)
}
