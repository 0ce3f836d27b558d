// SPDX-License-Identifier: Apache-2.0

package route

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/internal/metrics"
	"github.com/trellis-network/trellis/internal/outcome"
	"github.com/trellis-network/trellis/internal/shootclient"
	"github.com/trellis-network/trellis/internal/slots"
	"github.com/trellis-network/trellis/providers/routes"
)

const (
	// credentialsName is the name of the Secret in a control-plane namespace with the credentials
	// for the infrastructure, and credentialsSuffix ends the name of the one beside a Shoot.
	credentialsName, credentialsSuffix = "cloudprovider", ".cloudprovider"
	// finalizer keeps a Network until its routes are removed.
	finalizer = "trellis.network/pod-routes"
)

// run is one pass over the routes of a cluster.
type run struct {
	network *extensionsv1alpha1.Network
	shoot   *corev1beta1.Shoot
	cluster *shootclient.Shoot
	limit   int
	tables  routes.Tables
	nodes   []nodeRoutes
	there   *routes.Listing
	plan    *plan
	// failed are the errors of what could not be changed, and changed is how much was.
	failed  []error
	changed int
	// unmarked is how many nodes have yet to get their condition.
	unmarked int
}

// Reconcile makes one pass over the routes of a Network's cluster.
func (r *reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	network := &extensionsv1alpha1.Network{}
	if err := r.client.Get(ctx, request.NamespacedName, network); err != nil {
		if apierrors.IsNotFound(err) {
			r.forget(request.NamespacedName)
		}
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if hasMoved(network) || r.options.Serves != nil && !r.options.Serves(network.Spec.Type) {
		r.forget(request.NamespacedName)
		return reconcile.Result{}, nil
	}
	if r.options.IsOthers != nil && r.options.IsOthers(ctx, network.Namespace) {
		r.forget(request.NamespacedName)
		return reconcile.Result{RequeueAfter: r.options.Period}, nil // it may be this operator's by then
	}
	shoot, err := r.shootOf(ctx, network.Namespace)
	if err != nil || shoot == nil {
		return reconcile.Result{}, err // an event tells of the Cluster
	}
	stages := r.stagesFor(network, shoot)
	if stages == nil {
		r.forget(request.NamespacedName)
		r.options.Board.put(request.NamespacedName, nil)
		return reconcile.Result{}, nil
	}
	return r.pass(ctx, &run{network: network, shoot: shoot}, stages)
}

// pass runs the stages, unless the cluster had a pass just now or has too many slow ones.
func (r *reconciler) pass(ctx context.Context, run *run, stages []outcome.Stage[*run]) (reconcile.Result, error) {
	key, began := client.ObjectKeyFromObject(run.network), r.options.Clock.Now()
	if last, known := r.passes.Get(key); known && began.Sub(last) < pause && !began.Before(last) {
		return reconcile.Result{RequeueAfter: pause - began.Sub(last)}, nil
	}
	leave, admitted := r.slots.Enter(key.Namespace, began)
	if !admitted {
		return reconcile.Result{RequeueAfter: slots.Retry}, nil
	}
	defer func() { leave(r.options.Clock.Now()) }()
	r.passes.Set(key, began)
	ctx, cancel := context.WithTimeout(ctx, passTimeout)
	defer cancel()
	ended, _ := outcome.Run(ctx, run, stages)
	ended = r.conclude(ctx, run, ended)
	metrics.Reconciled(ControllerName, run.network.Spec.Type, ended, r.options.Clock.Since(began))
	return ended.Result()
}

// hasMoved reports whether the control plane is moving from or to another seed.
func hasMoved(network *extensionsv1alpha1.Network) bool {
	switch network.Annotations[extensionsv1alpha1.OperationAnnotation] {
	case extensionsv1alpha1.OperationMigrate, extensionsv1alpha1.OperationWaitForState:
		return true
	}
	last := network.Status.LastOperation
	return last != nil && last.Type == corev1beta1.LastOperationTypeMigrate
}

// shootOf returns the Shoot in the Cluster of a control plane, nil without a Cluster.
func (r *reconciler) shootOf(ctx context.Context, namespace string) (*corev1beta1.Shoot, error) {
	cluster := &extensionsv1alpha1.Cluster{}
	if err := r.client.Get(ctx, client.ObjectKey{Name: namespace}, cluster); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	shoot := &corev1beta1.Shoot{}
	if err := json.Unmarshal(cluster.Spec.Shoot.Raw, shoot); err != nil {
		return nil, fmt.Errorf("decode the Shoot in the Cluster %s: %w", namespace, err)
	}
	return shoot, nil
}

// stagesFor returns what to do for a Network, nil for nothing. A network that is being deleted needs
// its routes until it is gone.
func (r *reconciler) stagesFor(network *extensionsv1alpha1.Network, shoot *corev1beta1.Shoot) []outcome.Stage[*run] {
	isHeld := controllerutil.ContainsFinalizer(network, finalizer)
	isGone := !network.DeletionTimestamp.IsZero() && !controllerutil.ContainsFinalizer(network, extensionsv1alpha1.NetworkFinalizer)
	switch {
	case isHeld && isGone:
		return []outcome.Stage[*run]{
			{Name: "open the route tables", Run: r.open}, {Name: "list the routes", Run: r.list},
			{Name: "remove all routes", Run: r.removeAll}, {Name: "release the Network", Run: r.release},
		}
	case isHeld && !extensionsv1alpha1.AsksForPodRoutes(network, shoot):
		return []outcome.Stage[*run]{
			{Name: "open the route tables", Run: r.open}, {Name: "list the nodes", Run: r.listNodes}, {Name: "list the routes", Run: r.list},
			{Name: "unmark the nodes", Run: r.unmark}, {Name: "remove all routes", Run: r.removeAll}, {Name: "release the Network", Run: r.release},
		}
	case isGone || !extensionsv1alpha1.AsksForPodRoutes(network, shoot) || shoot.IsHibernated():
		return nil
	}
	return []outcome.Stage[*run]{
		{Name: "open the route tables", Run: r.open}, {Name: "list the nodes", Run: r.listNodes}, {Name: "list the routes", Run: r.list},
		{Name: "plan", Run: r.compare}, {Name: "hold the Network", Run: r.hold}, {Name: "change the routes", Run: r.change},
		{Name: "mark the nodes", Run: r.mark},
	}
}

// open opens the route tables with the credentials of the cluster.
func (r *reconciler) open(ctx context.Context, run *run) outcome.Outcome {
	infrastructure, known := r.options.Infrastructures[run.shoot.Spec.Provider.Type]
	if !known {
		return outcome.Fail(&notListedError{run.shoot.Spec.Provider.Type}, corev1beta1.ErrorConfigurationProblem)
	}
	key := client.ObjectKey{Namespace: run.network.Namespace, Name: credentialsName}
	if r.options.Standalone {
		key = client.ObjectKey{Namespace: run.shoot.Namespace, Name: run.shoot.Name + credentialsSuffix}
	}
	secret := &corev1.Secret{}
	if err := r.options.Secrets.Get(ctx, key, secret); err != nil {
		if apierrors.IsNotFound(err) {
			err = fmt.Errorf("%w: there is no Secret %s", routes.ErrNotAllowed, key)
		}
		return r.failure(run, err)
	}
	tables, err := infrastructure.Open(routes.Cluster{
		Name: run.network.Namespace, Region: run.shoot.Spec.Region, Credentials: secret.Data, Wrap: r.options.Wrap,
	})
	if err != nil {
		return r.failure(run, fmt.Errorf("the Secret %s: %w", key, err))
	}
	run.tables, run.limit = tables, cmp.Or(infrastructure.Limit, tables.Limit())
	return outcome.Continue()
}

// notListedError means that the operator makes no routes on an infrastructure.
type notListedError struct{ infrastructure string }

// Error implements error.
func (e *notListedError) Error() string {
	return fmt.Sprintf("the operator makes no routes on %q: list it in podRoutes of the operator's configuration, or remove the annotation %s",
		e.infrastructure, extensionsv1alpha1.PodRoutesAnnotation)
}

// failure ends a pass with an error that another attempt may overcome, after a while.
func (r *reconciler) failure(run *run, err error) outcome.Outcome {
	if outcome.IsStale(err) {
		return outcome.TryAgain(err)
	}
	return outcome.TryAgain(err, codesOf(err)...).Within(r.failures.When(client.ObjectKeyFromObject(run.network)))
}

// listNodes reads the nodes of the shoot, which must have answered just now.
func (r *reconciler) listNodes(ctx context.Context, run *run) outcome.Outcome {
	shoot, err := r.options.Shoots.For(ctx, run.network.Namespace)
	if err != nil {
		return r.failure(run, &shootError{err})
	}
	list := &corev1.NodeList{}
	if err = shoot.Confirm(ctx, maxAge); err == nil {
		err = shoot.Reader.List(ctx, list, client.UnsafeDisableDeepCopy)
	}
	if err != nil {
		return r.failure(run, &shootError{shoot.Failure(err)})
	}
	if len(list.Items) > maxNodes {
		return r.failure(run, &shootError{fmt.Errorf("the cluster has %d nodes, more than %d, of which no routes are made", len(list.Items), maxNodes)})
	}
	run.cluster = shoot
	run.nodes = neededBy(list.Items, podRanges(run.network, run.shoot), run.tables.Machine)
	return outcome.Continue()
}

// shootError means that the nodes are not known, so that no route is changed.
type shootError struct{ error }

// Unwrap returns the reason.
func (e *shootError) Unwrap() error { return e.error }

// list reads the route tables.
func (r *reconciler) list(ctx context.Context, run *run) outcome.Outcome {
	there, err := run.tables.List(ctx)
	if err != nil {
		return r.failure(run, err)
	}
	run.there = there
	return outcome.Continue()
}

// compare plans what to change.
func (r *reconciler) compare(_ context.Context, run *run) outcome.Outcome {
	run.plan = planned(run.nodes, podRanges(run.network, run.shoot), run.there)
	return outcome.Continue()
}

// hold adds the finalizer before the first route is made.
func (r *reconciler) hold(ctx context.Context, run *run) outcome.Outcome {
	if len(run.plan.make) == 0 || controllerutil.ContainsFinalizer(run.network, finalizer) || !run.network.DeletionTimestamp.IsZero() {
		return outcome.Continue()
	}
	return outcome.TryAgain(r.patchFinalizers(ctx, run, func(n *extensionsv1alpha1.Network) { controllerutil.AddFinalizer(n, finalizer) })).Unreported()
}

// release removes the finalizer.
func (r *reconciler) release(ctx context.Context, run *run) outcome.Outcome {
	return outcome.TryAgain(r.patchFinalizers(ctx, run, func(n *extensionsv1alpha1.Network) { controllerutil.RemoveFinalizer(n, finalizer) })).Unreported()
}

// patchFinalizers changes the finalizers of a Network, unless it has changed meanwhile.
func (r *reconciler) patchFinalizers(ctx context.Context, run *run, change func(*extensionsv1alpha1.Network)) error {
	before := run.network.DeepCopy()
	change(run.network)
	err := r.client.Patch(ctx, run.network, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	return client.IgnoreNotFound(err)
}

// change carries the plan out. Routes are removed first, since a table may be full.
func (r *reconciler) change(ctx context.Context, run *run) outcome.Outcome {
	if !run.network.DeletionTimestamp.IsZero() && !controllerutil.ContainsFinalizer(run.network, finalizer) {
		run.plan.make = nil // nothing would remove them
	}
	run.note(run.tables.Delete(ctx, run.plan.remove))
	if !run.cannotGoOn() {
		run.note(run.tables.Forward(ctx, run.plan.forward))
	}
	if !run.cannotGoOn() {
		run.note(run.tables.Make(ctx, run.plan.make))
	}
	return outcome.Continue()
}

// note counts what was changed, and keeps the errors of the rest.
func (run *run) note(errs []error) {
	for _, err := range errs {
		if err != nil {
			run.failed = append(run.failed, err)
		} else {
			run.changed++
		}
	}
}

// cannotGoOn reports whether the infrastructure would refuse other requests, too.
func (run *run) cannotGoOn() bool {
	return slices.ContainsFunc(run.failed, func(err error) bool {
		return errors.Is(err, routes.ErrThrottled) || errors.Is(err, routes.ErrNotAllowed)
	})
}

// removeAll removes all routes that were made for the cluster.
func (r *reconciler) removeAll(ctx context.Context, run *run) outcome.Outcome {
	var owned []routes.Route
	for _, table := range run.there.Tables {
		for _, route := range table.Routes {
			if route.Owned {
				owned = append(owned, route)
			}
		}
	}
	if run.note(run.tables.Delete(ctx, owned)); len(run.failed) > 0 {
		return r.failure(run, worst(run.failed))
	}
	return outcome.Continue()
}

// next returns when the next pass is due.
func (r *reconciler) next(run *run) time.Duration {
	if run.changed > 0 || run.unmarked > 0 {
		return pause
	}
	return r.options.Period
}
