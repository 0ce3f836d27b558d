// SPDX-License-Identifier: Apache-2.0

// Package networkstatus writes what is observed of Networks into their status: their
// conditions, and the part of the providerStatus that is about the running network. It
// is the only writer of both, since conditions are an atomic list in Gardener's CRD, of
// which no second writer can own an entry.
//
// What there is to write comes from sources (package source), each of which observes
// one aspect and owns some types of conditions and some keys of the providerStatus. A
// new condition is a new source and a line in sources.go.
//
// The package does not know what the sources observe. Everything else in a Network's
// status belongs to controller/network.
package networkstatus

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	resourcesv1alpha1 "github.com/trellis-network/trellis/api/resources/v1alpha1"
	"github.com/trellis-network/trellis/internal/budget"
	"github.com/trellis-network/trellis/internal/bundle"
	"github.com/trellis-network/trellis/internal/condition"
	"github.com/trellis-network/trellis/internal/controller/managedresource"
	"github.com/trellis-network/trellis/internal/controller/networkstatus/source"
	"github.com/trellis-network/trellis/internal/expectations"
	"github.com/trellis-network/trellis/internal/keyed"
	"github.com/trellis-network/trellis/internal/metrics"
	"github.com/trellis-network/trellis/internal/outcome"
	"github.com/trellis-network/trellis/internal/seedclient"
	"github.com/trellis-network/trellis/internal/shootclient"
	"github.com/trellis-network/trellis/internal/slots"
	"github.com/trellis-network/trellis/internal/state"
	"github.com/trellis-network/trellis/pipeline/probe"
)

// ControllerName is the controller's name in logs and metrics, as in the operator's
// configuration (controllers.health).
const ControllerName = "health"

// Options are the controller's settings. All but Serves, IsOthers, PageSize and Further must be set.
type Options struct {
	// Clients gives access to shoots, and reports when a workload there changes.
	Clients *shootclient.Clients
	// Serves reports whether the operator has a plugin for a type of networks; nil means
	// all types. The others' status is written by other operators.
	Serves func(networkType string) bool
	// IsOthers reports whether another operator looks after the control plane in a namespace;
	// nil means that there is none. That operator writes the status of its Networks.
	IsOthers func(ctx context.Context, namespace string) bool
	// Clock is the source of time.
	Clock clock.PassiveClock
	// Period is how often each Network is observed.
	Period time.Duration
	// ProgressingThreshold is how long a network may be unhealthy before its condition
	// turns from Progressing to False.
	ProgressingThreshold time.Duration
	// MaxConcurrentReconciles is how many Networks are observed at once.
	MaxConcurrentReconciles int
	// PageSize is how many objects are read from a shoot at once; 0 means 50.
	PageSize int64
	// Further are sources beside Trellis' own.
	Further []source.Registration
}

// +kubebuilder:rbac:roleName=gardener/operator,groups=extensions.gardener.cloud,resources=networks,verbs=list;watch
// +kubebuilder:rbac:roleName=standalone/operator,groups=extensions.gardener.cloud,resources=networks,verbs=list;watch
// +kubebuilder:rbac:roleName=gardener/operator,groups=extensions.gardener.cloud,resources=networks/status,verbs=patch
// +kubebuilder:rbac:roleName=standalone/operator,groups=extensions.gardener.cloud,resources=networks/status,verbs=patch

// Add registers the controller with mgr, the manager of the seed.
func Add(mgr manager.Manager, opts Options) error {
	r := &reconciler{
		client: mgr.GetClient(), options: opts, sources: append(opts.sources(), opts.Further...),
		slots:    slots.New(slots.For(opts.MaxConcurrentReconciles)),
		failures: workqueue.NewTypedItemExponentialFailureRateLimiter[types.NamespacedName](minRetry, maxRetry),
	}
	r.expected.MaxChecks = maxChecks
	for _, s := range r.sources {
		opts.Clients.Declare(s.Watches...)
	}
	ofCluster := handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, cluster client.Object) []reconcile.Request {
		return r.networksIn(ctx, cluster.GetName())
	})
	ofNamespace := handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, object client.Object) []reconcile.Request {
		return r.networksIn(ctx, object.GetNamespace())
	})
	ofShoot := opts.Clients.Source(func(event shootclient.Event) ([]reconcile.Request, time.Duration) {
		if !slices.ContainsFunc(r.sources, func(s source.Registration) bool { return triggers(s, event.Kind) }) {
			return nil, 0
		}
		return r.networksIn(context.Background(), event.Namespace), batchPeriod
	})
	return builder.ControllerManagedBy(mgr).
		Named(ControllerName).
		For(&extensionsv1alpha1.Network{}).
		Watches(&extensionsv1alpha1.Cluster{}, ofCluster).
		WatchesMetadata(&corev1.Secret{}, ofNamespace, builder.WithPredicates(predicate.NewPredicateFuncs(func(secret client.Object) bool {
			return shootclient.GivesAccess(secret.GetName())
		}))).
		Watches(&resourcesv1alpha1.ManagedResource{}, ofNamespace, builder.WithPredicates(managedresource.AppliedChanged(false))).
		WatchesRawSource(ofShoot).
		WithOptions(controller.Options{MaxConcurrentReconciles: opts.MaxConcurrentReconciles}).
		Complete(r)
}

// triggers reports whether a source reports after changes of objects of a kind.
func triggers(s source.Registration, kind schema.GroupVersionKind) bool {
	return slices.ContainsFunc(s.Watches, func(w shootclient.Watch) bool { return w.Kind == kind && !w.Silent })
}

// networksIn returns requests for the Networks in a control-plane namespace.
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
	client  client.Client
	options Options
	sources []source.Registration
	// applied is the providerStatus that was written last for each Network, and expected
	// what the cache may not show yet.
	applied  keyed.Map[types.NamespacedName, map[string]any]
	expected expectations.Expectations[types.NamespacedName]
	// failures is the back-off of sources that fail. It does not delay the others' reports.
	failures workqueue.TypedRateLimiter[types.NamespacedName]
	slots    *slots.Slots
	// budget limits how often the status changes that clusters decide about.
	budget budget.Budget
}

// Reconcile has all sources report about one Network, and writes their reports if that
// changes the status.
func (r *reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	network := &extensionsv1alpha1.Network{}
	if err := r.client.Get(ctx, request.NamespacedName, network); err != nil {
		r.forget(request.NamespacedName)
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if r.options.IsOthers != nil && r.options.IsOthers(ctx, network.Namespace) {
		r.forget(request.NamespacedName)
		return reconcile.Result{RequeueAfter: r.options.Period}, nil // it may be this operator's by then
	}
	if r.expected.Late(request.NamespacedName, func(string) string { return network.ResourceVersion }) {
		return outcome.StartOver(cacheLag).Result()
	}
	began := r.options.Clock.Now()
	leave, admitted := r.slots.Enter(request.Namespace, began)
	if !admitted {
		return reconcile.Result{RequeueAfter: slots.Retry}, nil
	}
	defer func() { leave(r.options.Clock.Now()) }()
	ended := r.observe(ctx, network)
	metrics.Reconciled(ControllerName, network.Spec.Type, ended, r.options.Clock.Since(began))
	return ended.Result()
}

func (r *reconciler) observe(ctx context.Context, network *extensionsv1alpha1.Network) outcome.Outcome {
	in, err := r.input(ctx, network)
	if err != nil {
		return outcome.TryAgain(err)
	}
	if in == nil {
		metrics.Rollout(client.ObjectKeyFromObject(network), network.Spec.Type, false)
		return outcome.Finish()
	}
	answers := r.collect(ctx, *in)
	requeueAfter, err := r.write(ctx, network, answers, in.Now)
	if err = client.IgnoreNotFound(err); err != nil {
		return outcome.TryAgain(err)
	}
	ended := outcome.Finish()
	key := client.ObjectKeyFromObject(network)
	if err := failure(answers); err != nil {
		logf.FromContext(ctx).Error(err, "A source of the status failed")
		ended = outcome.TryAgain(err).Within(r.failures.When(key))
	} else {
		r.failures.Forget(key)
	}
	if requeueAfter == 0 {
		return ended
	}
	return ended.Within(requeueAfter)
}

func (r *reconciler) forget(network types.NamespacedName) {
	r.applied.Delete(network)
	r.expected.Forget(network)
	r.failures.Forget(network)
	r.budget.Forget(network)
	r.slots.Forget(network.Namespace)
	metrics.ForgetNetwork(network)
	for _, s := range r.sources {
		s.Source.Forget(network)
	}
}

// input returns what the sources get, nil for a Network about which nothing is
// reported: one that is being deleted or moved, that belongs to another extension, or of
// which nothing is deployed yet.
func (r *reconciler) input(ctx context.Context, network *extensionsv1alpha1.Network) (*source.Input, error) {
	if isDeletedOrMoved(network) || r.options.Serves != nil && !r.options.Serves(network.Spec.Type) {
		return nil, nil
	}
	kept, err := state.Decode(network.Status.State)
	if err != nil || len(kept.Components)+len(kept.Bundles) == 0 {
		return nil, nil
	}
	hibernated, err := seedclient.IsHibernated(ctx, r.client, network.Namespace)
	if err != nil {
		return nil, err
	}
	if hibernated {
		r.options.Clients.Forget(network.Namespace)
	}
	unapplied, err := r.unapplied(ctx, network.Namespace, kept)
	if err != nil {
		return nil, err
	}
	return &source.Input{
		Network: network, State: kept, Components: kept.Components, Unapplied: unapplied, WithoutProbes: lacksProbes(kept),
		Hibernated: hibernated, Shoot: r.shoot(network.Namespace), Now: r.options.Clock.Now(),
	}, nil
}

// lacksProbes reports whether a network that was written has no probes.
func lacksProbes(kept *state.State) bool {
	_, has := kept.Bundle(probe.BundleName)
	return len(kept.Bundles) > 0 && !has
}

// unapplied describes the bundles that cannot be applied, or of which no resource manager has reported
// anything, those included that the success of a Network does not wait for.
func (r *reconciler) unapplied(ctx context.Context, namespace string, kept *state.State) ([]string, error) {
	var found []string
	for i := range kept.Bundles {
		mr := &resourcesv1alpha1.ManagedResource{}
		err := r.client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: kept.Bundles[i].Name}, mr)
		if client.IgnoreNotFound(err) != nil {
			return nil, fmt.Errorf("read the ManagedResource %s: %w", kept.Bundles[i].Name, err)
		}
		if err != nil {
			continue // it is about to be written
		}
		reason := ""
		switch applied := bundle.AppliedCondition(mr); {
		case applied.Status == "" && r.options.Clock.Since(mr.CreationTimestamp.Time) > silence:
			reason = fmt.Sprintf("no resource manager has reported on it within %s", silence)
		case bundle.Hinders(applied):
			reason = condition.Shorten(applied.Message, messageLimit/2)
		}
		if reason != "" {
			found = append(found, fmt.Sprintf("the ManagedResource %s is not applied: %s", mr.Name, reason))
		}
	}
	return found, nil
}

// isDeletedOrMoved reports whether the Network is being deleted, or its control plane is moving
// from or to another seed (Gardener contract, N8).
func isDeletedOrMoved(network *extensionsv1alpha1.Network) bool {
	switch network.Annotations[extensionsv1alpha1.OperationAnnotation] {
	case extensionsv1alpha1.OperationMigrate, extensionsv1alpha1.OperationWaitForState:
		return true
	}
	last := network.Status.LastOperation
	return !network.DeletionTimestamp.IsZero() || last != nil && last.Type == corev1beta1.LastOperationTypeMigrate
}
