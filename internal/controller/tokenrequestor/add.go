// SPDX-License-Identifier: Apache-2.0

package tokenrequestor

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	resourcesv1alpha1 "github.com/trellis-network/trellis/api/resources/v1alpha1"
	"github.com/trellis-network/trellis/internal/seed"
	"github.com/trellis-network/trellis/internal/shootclient"
)

// +kubebuilder:rbac:groups="",resources=secrets,verbs=get;list;watch;create;patch
// +kubebuilder:rbac:groups=extensions.gardener.cloud,resources=clusters,verbs=get;list;watch;patch

// Options are the settings of the controllers. Everything but Shoots has a default.
type Options struct {
	// Shoots gives access to the shoots.
	Shoots shootclient.Access
	// Class of the Secrets to fill. Default: shoot.
	Class string
	// Audiences that the tokens are for. Default: those of the shoot's API server,
	// whatever they are. Gardener asks for "gardener", which its API servers accept.
	Audiences []string
	// Period is how often it is checked that a token is still accepted. Default: 1
	// hour.
	Period time.Duration
	// MaxConcurrentReconciles is the number of Secrets that are worked on at the same
	// time. Default: 5.
	MaxConcurrentReconciles int
	// Clock is the time. Default: the real one.
	Clock clock.PassiveClock
	// Random returns a number from 0 up to but not including 1; it spreads renewals.
	// Default: a random one.
	Random func() float64
}

func (o *Options) setDefaults() {
	if o.Class == "" {
		o.Class = resourcesv1alpha1.ClassShoot
	}
	if o.Period == 0 {
		o.Period = time.Hour
	}
	if o.MaxConcurrentReconciles == 0 {
		o.MaxConcurrentReconciles = 5
	}
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	if o.Random == nil {
		o.Random = rand.Float64
	}
}

// Add adds two controllers to a manager: one fills the Secrets that ask for a
// token, one makes the generic kubeconfig.
func Add(mgr manager.Manager, options Options) error {
	options.setDefaults()
	tokens := &tokens{client: mgr.GetClient(), cached: mgr.GetCache(), live: mgr.GetAPIReader(), options: options}
	kubeconfigs := &kubeconfigs{client: mgr.GetClient(), cached: mgr.GetCache(), live: mgr.GetAPIReader()}
	return errors.Join(tokens.add(mgr), kubeconfigs.add(mgr))
}

func (t *tokens) add(mgr manager.Manager) error {
	relevant := predicate.NewPredicateFuncs(func(o client.Object) bool {
		return t.asksForToken(o) || o.GetName() == shootclient.SecretName
	})
	return builder.ControllerManagedBy(mgr).
		Named("tokenrequestor").
		WatchesMetadata(&corev1.Secret{}, handler.EnqueueRequestsFromMapFunc(t.requestsFor), builder.WithPredicates(relevant)).
		WithOptions(controller.Options{MaxConcurrentReconciles: t.options.MaxConcurrentReconciles}).
		Complete(t)
}

// asksForToken says whether a Secret is one of those that are filled.
func (t *tokens) asksForToken(secret metav1.Object) bool {
	labels := secret.GetLabels()
	return labels[resourcesv1alpha1.Purpose] == resourcesv1alpha1.PurposeTokenRequestor &&
		labels[resourcesv1alpha1.Class] == t.options.Class
}

// requestsFor returns the Secrets that a Secret matters to: itself, or all of its
// namespace if it is the access to the shoot.
func (t *tokens) requestsFor(ctx context.Context, secret client.Object) []reconcile.Request {
	if secret.GetName() != shootclient.SecretName {
		return []reconcile.Request{{NamespacedName: client.ObjectKeyFromObject(secret)}}
	}
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("SecretList"))
	err := t.cached.List(ctx, list, client.InNamespace(secret.GetNamespace()), client.MatchingLabels{
		resourcesv1alpha1.Purpose: resourcesv1alpha1.PurposeTokenRequestor, resourcesv1alpha1.Class: t.options.Class,
	})
	if err != nil {
		return nil
	}
	requests := make([]reconcile.Request, 0, len(list.Items))
	for i := range list.Items {
		requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&list.Items[i])})
	}
	return requests
}

func (k *kubeconfigs) add(mgr manager.Manager) error {
	relevant := predicate.NewPredicateFuncs(func(o client.Object) bool {
		return o.GetName() == shootclient.SecretName || strings.HasPrefix(o.GetName(), genericName)
	})
	return builder.ControllerManagedBy(mgr).
		Named("generic-kubeconfig").
		Watches(&extensionsv1alpha1.Cluster{}, seed.RequestsNamed(client.Object.GetName), builder.WithPredicates(predicate.AnnotationChangedPredicate{})).
		WatchesMetadata(&corev1.Secret{}, seed.RequestsNamed(client.Object.GetNamespace), builder.WithPredicates(relevant)).
		Complete(k)
}
