// SPDX-License-Identifier: Apache-2.0

package network

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	resourcesv1alpha1 "github.com/trellis-network/trellis/api/resources/v1alpha1"
	"github.com/trellis-network/trellis/internal/bundle"
	"github.com/trellis-network/trellis/internal/seed"
	"github.com/trellis-network/trellis/internal/shootclient"
	"github.com/trellis-network/trellis/pipeline"
	"github.com/trellis-network/trellis/plugin"
)

// Trigger is what makes the controller pick up a Network's spec.
type Trigger string

const (
	// TriggerOperation picks up a spec when the operation annotation asks for it,
	// as Gardener's callers expect: an edited spec alone changes nothing.
	TriggerOperation Trigger = "Operation"
	// TriggerGeneration picks up every change of a spec.
	TriggerGeneration Trigger = "Generation"
)

// failingFor is how long the resource manager may fail to apply before the
// Network says Error. Short failures are normal while a shoot starts.
const failingFor = 2 * time.Minute

// Options are the settings of the controller.
type Options struct {
	// Pipeline builds the objects.
	Pipeline *pipeline.Pipeline
	// Trigger is what makes the controller pick up a spec.
	Trigger Trigger
	// Shoots gives access to the shoots, whose nodes a change may have to wait for.
	Shoots shootclient.Access
	// Standalone says that nobody else is there: Networks of unknown types are
	// answered rather than left to another extension, and Secrets of older bundles
	// are removed here.
	Standalone bool
	// FeatureGates, resolved, and Images are facts for the plugins.
	FeatureGates map[string]bool
	Images       map[string]string
	// Webhook is how API servers of shoots ask about networks of a type, nil where
	// nobody answers. WebhookChanged gives a sign when it returns something else.
	Webhook        func(networkType string) *plugin.Webhook
	WebhookChanged <-chan struct{}
	// DumpRequests is a folder that each pipeline.Request is written to before it
	// is built, or empty.
	DumpRequests string
	// Timeout bounds how long one reconciliation takes, and how long a ManagedResource
	// that it has written is waited for before that is an error; 0 means 3 minutes, as
	// in Gardener's contract.
	Timeout time.Duration
	// MaxConcurrentReconciles is how many Networks are worked on at once.
	MaxConcurrentReconciles int
	// Clock gives the time of status updates.
	Clock clock.PassiveClock
}

// defaultTimeout is the one of Gardener's contract (section 2.1).
const defaultTimeout = 3 * time.Minute

// Reconciler carries out Networks.
type Reconciler struct {
	Options
	client   client.Client
	cached   client.Reader // reads the metadata of Secrets, which client does not cache
	live     client.Reader // reads what a cache must not be late with: what is to be deleted
	recorder events.EventRecorder

	// memories has, by types.NamespacedName, what this process knows of a Network
	// beyond its status.
	memories sync.Map
}

// +kubebuilder:rbac:groups=extensions.gardener.cloud,resources=networks,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=extensions.gardener.cloud,resources=networks/status,verbs=patch
// +kubebuilder:rbac:groups=extensions.gardener.cloud,resources=clusters,verbs=get;list;watch
// +kubebuilder:rbac:groups=resources.gardener.cloud,resources=managedresources,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups="",resources=secrets,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// Add adds the controller to a manager.
func Add(mgr ctrl.Manager, options Options) error {
	options.Timeout = cmp.Or(options.Timeout, defaultTimeout)
	r := &Reconciler{
		Options: options, client: mgr.GetClient(), cached: mgr.GetCache(), live: mgr.GetAPIReader(),
		recorder: mgr.GetEventRecorder("trellis-network"),
	}
	return ctrl.NewControllerManagedBy(mgr).
		Named("network").
		For(&extensionsv1alpha1.Network{}, builder.WithPredicates(r.mine(), r.triggered())).
		Watches(&resourcesv1alpha1.ManagedResource{}, handler.EnqueueRequestsFromMapFunc(r.networkOfManagedResource)).
		WatchesMetadata(&corev1.Secret{}, handler.EnqueueRequestsFromMapFunc(r.networksOfSecret), builder.WithPredicates(isDeleted())).
		Watches(&extensionsv1alpha1.Cluster{}, handler.EnqueueRequestsFromMapFunc(r.networksOfCluster),
			builder.WithPredicates(predicate.Or(predicate.GenerationChangedPredicate{}, predicate.AnnotationChangedPredicate{}))).
		WatchesRawSource(r.webhookChanges()).
		WithOptions(controller.Options{MaxConcurrentReconciles: options.MaxConcurrentReconciles}).
		Complete(r)
}

// networkOfManagedResource maps a bundle's ManagedResource to the Networks of
// its namespace which write it: its status, or its end, is what a Network waits
// for.
func (r *Reconciler) networkOfManagedResource(ctx context.Context, mr client.Object) []reconcile.Request {
	return r.networksIn(ctx, mr.GetNamespace(), func(n *extensionsv1alpha1.Network) bool {
		definition, known := r.Pipeline.Plugin(n.Spec.Type)
		return known && slices.Contains(seed.NamesOf(&definition, seed.Removal), mr.GetName())
	})
}

// networksOfSecret maps the Secret of a bundle to the Networks that need it.
func (r *Reconciler) networksOfSecret(ctx context.Context, secret client.Object) []reconcile.Request {
	name := bundle.OwnerOf(secret)
	mr := &resourcesv1alpha1.ManagedResource{}
	if name == "" || r.client.Get(ctx, client.ObjectKey{Namespace: secret.GetNamespace(), Name: name}, mr) != nil {
		return nil
	}
	if !slices.Contains(mr.Spec.SecretRefs, corev1.LocalObjectReference{Name: secret.GetName()}) {
		return nil
	}
	return r.networkOfManagedResource(ctx, mr)
}

// networksOfCluster maps a Cluster to the Networks that follow it. Where a changed
// Cluster must not be picked up without an annotation, those are the ones that are being
// deleted: the Shoot may say by now that nothing is waited for.
func (r *Reconciler) networksOfCluster(ctx context.Context, cluster client.Object) []reconcile.Request {
	return r.networksIn(ctx, cluster.GetName(), func(n *extensionsv1alpha1.Network) bool {
		return r.Trigger == TriggerGeneration || !n.DeletionTimestamp.IsZero()
	})
}

func (r *Reconciler) networksIn(ctx context.Context, namespace string, which func(*extensionsv1alpha1.Network) bool) []reconcile.Request {
	list := &extensionsv1alpha1.NetworkList{}
	if err := r.client.List(ctx, list, client.InNamespace(namespace)); err != nil {
		return nil
	}
	var requests []reconcile.Request
	for i := range list.Items {
		if n := &list.Items[i]; which(n) && r.isMine(n) {
			requests = append(requests, reconcile.Request{NamespacedName: types.NamespacedName{Namespace: n.Namespace, Name: n.Name}})
		}
	}
	return requests
}
