// SPDX-License-Identifier: Apache-2.0

package network

import (
	"cmp"
	"context"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	resourcesv1alpha1 "github.com/trellis-network/trellis/api/resources/v1alpha1"
	"github.com/trellis-network/trellis/internal/shootclient"
	"github.com/trellis-network/trellis/internal/wave"
	"github.com/trellis-network/trellis/pipeline"
	"github.com/trellis-network/trellis/plugin"
)

// Trigger is what makes the controller carry out a Network's spec.
type Trigger string

const (
	// TriggerOperation carries out a spec when the operation annotation asks for it, as
	// Gardener's callers expect: an edited spec alone changes nothing (N18).
	TriggerOperation Trigger = "Operation"
	// TriggerGeneration carries out every change of a spec (N21).
	TriggerGeneration Trigger = "Generation"
)

// Options are the settings of the controller.
type Options struct {
	// Operator is the operator's name, which users of Networks of unknown types are told.
	Operator string
	// IsOthers reports whether another operator looks after the control plane in a namespace,
	// whose Networks are left alone; nil means that there is none. What it returns may change
	// with the labels of the namespace.
	IsOthers func(ctx context.Context, namespace string) bool
	// Pipeline builds the objects.
	Pipeline *pipeline.Pipeline
	// Trigger is what makes the controller carry out a spec.
	Trigger Trigger
	// Shoots gives access to the shoots: a change may have to wait for their nodes, and the
	// agents' DaemonSet shows how many nodes there are.
	Shoots shootclient.Access
	// Standalone is the mode without Gardener: Networks of unknown types are answered
	// rather than left to another extension, and superseded Secrets are deleted here.
	Standalone bool
	// FeatureGates, resolved, and Images are facts for the plugins.
	FeatureGates map[string]bool
	Images       map[string]string
	// Probe are the settings of the probe that is added to each network. Nil adds none.
	Probe *plugin.Probe
	// Webhook returns how API servers of shoots reach the webhook for a type of networks,
	// nil if there is none; without Webhook there is none for any type. WebhookChanged
	// receives a value when Webhook returns something else than before.
	Webhook        func(networkType string) *plugin.Webhook
	WebhookChanged <-chan struct{}
	// Rollout paces how a new version or a changed setting of the operator reaches Networks; nil
	// does not.
	Rollout *wave.Policy
	// DumpRequests is a folder that each pipeline.Request is written to before it is
	// built; empty writes none.
	DumpRequests string
	// Timeout bounds how long one reconciliation takes (N33), and how long it awaits a
	// ManagedResource before that is an error; 0 means 3 minutes.
	Timeout time.Duration
	// MaxConcurrentReconciles is how many Networks are reconciled at once.
	MaxConcurrentReconciles int
	// Clock gives the time of status updates.
	Clock clock.PassiveClock
}

// +kubebuilder:rbac:roleName=gardener/operator,groups=extensions.gardener.cloud,resources=networks,verbs=list;watch;patch
// +kubebuilder:rbac:roleName=gardener/operator,groups=extensions.gardener.cloud,resources=networks/status,verbs=patch
// +kubebuilder:rbac:roleName=gardener/operator,groups=extensions.gardener.cloud,resources=clusters,verbs=list;watch
// +kubebuilder:rbac:roleName=standalone/operator,groups=extensions.gardener.cloud,resources=networks,verbs=list;watch;patch
// +kubebuilder:rbac:roleName=standalone/operator,groups=extensions.gardener.cloud,resources=networks/status,verbs=patch
// +kubebuilder:rbac:roleName=standalone/operator,groups=extensions.gardener.cloud,resources=clusters,verbs=list;watch
//
// The Secrets of bundles, whose names end with a hash, and those with the access to shoots. Only their
// metadata is listed and watched, but RBAC does not distinguish that.
//
// +kubebuilder:rbac:roleName=gardener/operator,groups=resources.gardener.cloud,resources=managedresources,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:roleName=gardener/operator,groups="",resources=secrets,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:roleName=standalone/operator,groups=resources.gardener.cloud,resources=managedresources,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:roleName=standalone/operator,groups="",resources=secrets,verbs=get;list;watch;create;patch;delete

// Add adds the controller to a manager.
func Add(mgr ctrl.Manager, options Options) error {
	options.Timeout = cmp.Or(options.Timeout, defaultTimeout)
	if options.Webhook == nil {
		options.Webhook = func(string) *plugin.Webhook { return nil }
	}
	options.Shoots.Declare(shootclient.Nodes, shootclient.Watch{
		Kind: appsv1.SchemeGroupVersion.WithKind("DaemonSet"), Typed: true, Fields: shootclient.InSystem,
	})
	r := newReconciler(mgr.GetClient(), mgr.GetCache(), mgr.GetAPIReader(), mgr.GetEventRecorder("trellis-network"), options)
	w := &watches{options, mgr.GetClient()}
	b := ctrl.NewControllerManagedBy(mgr)
	if options.IsOthers != nil {
		b.WatchesMetadata(&corev1.Namespace{}, handler.EnqueueRequestsFromMapFunc(w.networksOfNamespace), builder.WithPredicates(relabelled()))
	}
	if options.Standalone {
		b.WatchesMetadata(&corev1.Secret{}, handler.EnqueueRequestsFromMapFunc(w.networksOfSupersededSecret), builder.WithPredicates(created()))
	}
	return w.ofRollout(b, r.pace.pacer).
		Named("network").
		For(&extensionsv1alpha1.Network{}, builder.WithPredicates(w.mine(), w.triggered())).
		Watches(&extensionsv1alpha1.Network{}, handler.EnqueueRequestsFromMapFunc(w.networksBeside), builder.WithPredicates(deleted())).
		Watches(&resourcesv1alpha1.ManagedResource{}, handler.EnqueueRequestsFromMapFunc(w.networksOfManagedResource)).
		WatchesMetadata(&corev1.Secret{}, handler.EnqueueRequestsFromMapFunc(w.networksOfLostSecret), builder.WithPredicates(deleted())).
		Watches(&extensionsv1alpha1.Cluster{}, handler.EnqueueRequestsFromMapFunc(w.networksOfCluster),
			builder.WithPredicates(predicate.Or(predicate.GenerationChangedPredicate{}, predicate.AnnotationChangedPredicate{}))).
		WatchesRawSource(w.webhookChanges()).
		WithOptions(controller.Options{
			MaxConcurrentReconciles: options.MaxConcurrentReconciles,
			RateLimiter:             workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](minRetry, maxRetry),
		}).
		Complete(r)
}
