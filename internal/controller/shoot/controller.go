// SPDX-License-Identifier: Apache-2.0

package shoot

import (
	"cmp"
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	resourcesv1alpha1 "github.com/trellis-network/trellis/api/resources/v1alpha1"
	"github.com/trellis-network/trellis/internal/controller/managedresource"
	"github.com/trellis-network/trellis/pipeline"
)

// ControllerName is the controller's name in logs, metrics and events.
const ControllerName = "shoot"

// A failed reconciliation is repeated after minRetry, then after twice that, up to maxRetry: the alert
// TrellisReconciliationsFail counts on a few in ten minutes.
const (
	minRetry = 5 * time.Millisecond
	maxRetry = time.Minute
)

// Options are the controller's settings. The zero value is usable.
type Options struct {
	// Operator is the operator's name, by which operators beside each other know their
	// control planes. It may be empty if there is no other operator.
	Operator string
	// Serves reports whether the operator has a plugin for a type of networks; nil means
	// all types.
	Serves func(networkType string) bool
	// Clock is the source of the time in statuses; nil means the real one.
	Clock clock.PassiveClock
	// Infrastructures are the types of infrastructure with controllers of Infrastructures and
	// ControlPlanes in the seed. Shoots of other types have neither.
	Infrastructures []string
	// MaxConcurrentReconciles is how many Shoots are reconciled at once; 0 means 5.
	MaxConcurrentReconciles int
}

// +kubebuilder:rbac:roleName=standalone/operator,groups=core.gardener.cloud,resources=shoots,verbs=list;watch;patch
// +kubebuilder:rbac:roleName=standalone/operator,groups=core.gardener.cloud,resources=shoots/status,verbs=patch
// +kubebuilder:rbac:roleName=standalone/operator,groups="",resources=namespaces,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:roleName=standalone/operator,groups=extensions.gardener.cloud,resources=clusters,verbs=list;watch;create;update;delete
// +kubebuilder:rbac:roleName=standalone/operator,groups=extensions.gardener.cloud,resources=networks,verbs=list;watch;create;patch;delete
//
// What a Shoot has of its infrastructure is deleted in order also by an operator whose configuration no
// longer lists that.
//
// +kubebuilder:rbac:roleName=standalone/operator,groups=extensions.gardener.cloud,resources=infrastructures;controlplanes,verbs=get
// +kubebuilder:rbac:roleName=infrastructure/operator,groups=extensions.gardener.cloud,resources=infrastructures;controlplanes,verbs=get;list;watch;create;update;patch;delete

// Add registers the controller with mgr, whose cluster is both garden and seed.
func Add(mgr manager.Manager, opts Options) error {
	if opts.Clock == nil {
		opts.Clock = clock.RealClock{}
	}
	index := func(o client.Object) []string {
		return []string{pipeline.ControlPlaneNamespace(o.(*corev1beta1.Shoot))}
	}
	if err := mgr.GetFieldIndexer().IndexField(context.Background(), &corev1beta1.Shoot{}, byControlPlane, index); err != nil {
		return fmt.Errorf("index Shoots by their control-plane namespace: %w", err)
	}
	r := newReconciler(mgr, opts)
	ofNamespace := r.owners.ofObjectsIn(func(o client.Object) string { return o.GetNamespace() })
	isPrerequisites := predicate.NewPredicateFuncs(func(o client.Object) bool { return o.GetName() == PrerequisitesName })
	ofName := r.owners.ofObjectsIn(func(o client.Object) string { return o.GetName() })
	b := builder.ControllerManagedBy(mgr)
	if len(opts.Infrastructures) > 0 {
		b.Watches(&extensionsv1alpha1.Infrastructure{}, ofNamespace).Watches(&extensionsv1alpha1.ControlPlane{}, ofNamespace)
	}
	return b.
		Named(ControllerName).
		For(&corev1beta1.Shoot{}).
		Watches(&extensionsv1alpha1.Network{}, ofNamespace).
		Watches(&extensionsv1alpha1.Cluster{}, ofName).
		Watches(&resourcesv1alpha1.ManagedResource{}, ofNamespace, builder.WithPredicates(predicate.Or(isPrerequisites, managedresource.AppliedChanged(true)))).
		WatchesMetadata(&corev1.Namespace{}, ofName).
		WatchesMetadata(&corev1.Secret{}, handler.EnqueueRequestsFromMapFunc(r.owners.ofSecret)).
		WithOptions(controller.Options{
			MaxConcurrentReconciles: cmp.Or(opts.MaxConcurrentReconciles, 5),
			RateLimiter:             workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](minRetry, maxRetry),
		}).
		Complete(r)
}
