// SPDX-License-Identifier: Apache-2.0

package garbagecollector

import (
	"context"
	"errors"
	"time"

	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	resourcesv1alpha1 "github.com/trellis-network/trellis/api/resources/v1alpha1"
	"github.com/trellis-network/trellis/internal/seed"
	"github.com/trellis-network/trellis/internal/shootclient"
)

// What is collected in the seed, and what may refer to it.
//
// +kubebuilder:rbac:groups="",resources=secrets;configmaps,verbs=get;list;watch;delete
// +kubebuilder:rbac:groups="",resources=pods,verbs=list
// +kubebuilder:rbac:groups=apps,resources=deployments;statefulsets;daemonsets,verbs=list
// +kubebuilder:rbac:groups=batch,resources=jobs;cronjobs,verbs=list
// +kubebuilder:rbac:groups=monitoring.coreos.com,resources=prometheuses,verbs=list
// +kubebuilder:rbac:groups=resources.gardener.cloud,resources=managedresources,verbs=get;list;watch
// +kubebuilder:rbac:groups=extensions.gardener.cloud,resources=clusters,verbs=get;list;watch

// Options are the settings of the controllers. Everything but Shoots has a default.
type Options struct {
	// Shoots gives access to the shoots.
	Shoots shootclient.Access
	// Period is how often each cluster is cleaned up at least. Default: 1 hour.
	Period time.Duration
	// MinimumAge is for how long an object has to be found unreferenced before it is
	// deleted, which is not before it is as old itself. Default: 10 minutes.
	MinimumAge time.Duration
	// MaxConcurrentReconciles is the number of clusters that are cleaned up at the
	// same time. Default: 2.
	MaxConcurrentReconciles int
	// Clock is the time. Default: the real one.
	Clock clock.PassiveClock
}

func (o *Options) setDefaults() {
	if o.Period == 0 {
		o.Period = time.Hour
	}
	if o.MinimumAge == 0 {
		o.MinimumAge = 10 * time.Minute
	}
	if o.MaxConcurrentReconciles == 0 {
		o.MaxConcurrentReconciles = 2
	}
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
}

// Add adds two controllers to a manager: one cleans up the control-plane
// namespaces of its cluster, the seed, and one the shoots. What is in other
// namespaces of the seed is somebody else's.
func Add(mgr manager.Manager, options Options) error {
	options.setDefaults()
	inSeed := &Reconciler{client: mgr.GetClient(), options: options, target: func(_ context.Context, namespace string) (*target, error) {
		return &target{Client: mgr.GetClient(), live: mgr.GetAPIReader(), scope: namespace, references: referencesInSeed}, nil
	}}
	inShoots := &Reconciler{client: mgr.GetClient(), options: options, target: func(ctx context.Context, namespace string) (*target, error) {
		shoot, err := options.Shoots.For(ctx, namespace)
		if err != nil {
			return nil, err
		}
		return &target{Client: shoot.Client, live: shoot.Client, failure: shoot.Failure}, nil
	}}
	return errors.Join(inSeed.add(mgr, "garbagecollector-seed"), inShoots.add(mgr, "garbagecollector-shoot"))
}

func (r *Reconciler) add(mgr manager.Manager, name string) error {
	appeared := builder.WithPredicates(predicate.Funcs{
		UpdateFunc: func(event.UpdateEvent) bool { return false },
		DeleteFunc: func(event.DeleteEvent) bool { return false },
	})
	return builder.ControllerManagedBy(mgr).
		Named(name).
		Watches(&resourcesv1alpha1.ManagedResource{}, seed.RequestsNamed(client.Object.GetNamespace), appeared).
		Watches(&extensionsv1alpha1.Cluster{}, seed.RequestsNamed(client.Object.GetName), appeared).
		WithOptions(controller.Options{MaxConcurrentReconciles: r.options.MaxConcurrentReconciles}).
		Complete(r)
}
