// SPDX-License-Identifier: Apache-2.0

package network

import (
	"context"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/internal/gate"
	"github.com/trellis-network/trellis/internal/outcome"
	"github.com/trellis-network/trellis/internal/slots"
)

// Reconciler reconciles Networks. It has the lists of stages; the stages are methods of its
// parts. docs/design.md says which file has which stage.
type Reconciler struct {
	Options
	*localState
	client   client.Client
	codes    codes
	gatherer gatherer
	follower follower
	builder  *bundleBuilder
	walker   walker
	nodes    exchanger
	pace     pacekeeper
	claims   claims
	gates    gatekeeper
	writer   *bundleWriter
	awaiter  awaiter
	status   *statusWriter
}

// newReconciler puts the parts together. cached reads the metadata of Secrets, which c does
// not cache, and live reads from the API server.
func newReconciler(c client.Client, cached, live client.Reader, recorder events.EventRecorder, options Options) *Reconciler {
	codes, local := codes{options.Standalone}, &localState{slots: slots.New(limits(options.MaxConcurrentReconciles))}
	local.networks.MaxChecks, local.bundles.MaxChecks = maxLooksAtNetwork, maxLooks
	status := &statusWriter{client: c, recorder: recorder, clock: options.Clock, pipeline: options.Pipeline, localState: local}
	requests := &requests{options, live, codes}
	writer := &bundleWriter{
		client: c, cached: cached, live: live, standalone: options.Standalone,
		codes: codes, status: status, clock: options.Clock, localState: local,
	}
	return &Reconciler{
		Options: options, localState: local, client: c, codes: codes,
		gatherer: gatherer{client: c, cached: cached, live: live, trigger: options.Trigger, standalone: options.Standalone, status: status, clock: options.Clock, localState: local},
		follower: follower{requests, writer},
		builder:  &bundleBuilder{requests, cached},
		walker:   walker{requests, options.Clock},
		nodes:    exchanger{requests, options.Clock},
		pace:     pacekeeper{newPacer(c, options), requests, recorder, options.Clock},
		claims:   claims{c, status},
		gates:    gatekeeper{[]gate.Gate{gate.Nodes{Shoots: options.Shoots, MaxAge: nodesMaxAge}, gate.Routes{}, gate.Kinds{Shoots: options.Shoots}}, requests},
		writer:   writer,
		awaiter:  awaiter{codes, options.Clock, options.Timeout},
		status:   status,
	}
}

type stage = outcome.Stage[*run]

// stagesFor returns what must be done for a Network now.
func (r *Reconciler) stagesFor(run *run) []stage {
	n := run.Network
	_, known := r.Pipeline.Plugin(n.Spec.Type)
	switch {
	case !known:
		return []stage{{Name: "refuse the unknown type", Run: r.refuseUnknownType}}
	case n.Annotations[extensionsv1alpha1.OperationAnnotation] == extensionsv1alpha1.OperationWaitForState:
		return nil
	case run.hasMigrated:
		return []stage{{Name: "answer the request", Run: r.claims.answerRequest}}
	case run.operation == corev1beta1.LastOperationTypeMigrate:
		return r.migration()
	case !n.DeletionTimestamp.IsZero():
		return r.deletion()
	}
	return r.reconciliation()
}

// reconciliation makes the shoot have what the spec asks for. While nothing asks for the
// spec, it only awaits what was written.
func (r *Reconciler) reconciliation() []stage {
	return []stage{
		{Name: "gather", Run: r.gatherer.gather},
		{Name: "refuse a second Network", Run: r.gatherer.refuseSecond},
		{Name: "decide", Run: r.gatherer.decide},
		{Name: "follow the webhook", Run: r.follower.followWebhook},
		{Name: "build", Run: r.builder.build},
		{Name: "take a step", Run: r.walker.takeStep},
		{Name: "bundle", Run: r.builder.bundle},
		{Name: "pace the roll-out", Run: r.pace.pace},
		{Name: "record", Run: r.claims.record},
		{Name: "restore Secrets", Run: r.writer.restoreSecrets},
		{Name: "gate", Run: r.gates.gate},
		{Name: "write", Run: r.writer.write},
		{Name: "await", Run: r.awaiter.await},
		{Name: "exchange nodes", Run: r.nodes.exchange},
		{Name: "clean up", Run: r.writer.cleanUp},
	}
}

// deletion removes the network from the shoot and lets the Network go.
func (r *Reconciler) deletion() []stage {
	return []stage{
		{Name: "gather", Run: r.gatherer.gather},
		{Name: "answer the request", Run: r.claims.answerRequest},
		{Name: "check the finalizer", Run: r.claims.checkFinalizer},
		{Name: "begin", Run: r.claims.begin},
		{Name: "delete the bundles", Run: r.writer.deleteBundles},
		{Name: "report success", Run: r.claims.reportGone},
		{Name: "remove the finalizer", Run: r.claims.removeFinalizer},
	}
}

// migration lets go of a shoot whose control plane moves to another seed: the bundles go,
// and their objects stay in the shoot. Its order is that of N10.
func (r *Reconciler) migration() []stage {
	return []stage{
		{Name: "gather", Run: r.gatherer.gather},
		{Name: "answer the request", Run: r.claims.answerRequest},
		{Name: "begin", Run: r.claims.begin},
		{Name: "keep the objects", Run: r.writer.keepObjects},
		{Name: "delete the bundles", Run: r.writer.deleteBundles},
		{Name: "report success", Run: r.claims.reportGone},
		{Name: "remove all finalizers", Run: r.claims.removeAllFinalizers},
		{Name: "answer the migration", Run: r.claims.answerMigration},
	}
}

// leave forgets a Network that does not exist, or that another operator looks after.
func (r *Reconciler) leave(ctx context.Context, name types.NamespacedName) {
	r.forget(name)
	if r.pace.pacer != nil {
		r.pace.pacer.Forget(ctx, name)
	}
}

// Reconcile implements reconcile.Reconciler. What must be done follows from the objects
// alone, so that it may be interrupted between any two requests.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (result ctrl.Result, err error) {
	n := &extensionsv1alpha1.Network{}
	if err := r.client.Get(ctx, request.NamespacedName, n); err != nil {
		r.leave(ctx, request.NamespacedName)
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if r.IsOthers != nil && r.IsOthers(ctx, n.Namespace) {
		r.leave(ctx, request.NamespacedName)
		return ctrl.Result{}, nil
	}
	if r.networks.Late(request.NamespacedName, func(string) string { return n.ResourceVersion }) {
		return ctrl.Result{RequeueAfter: cacheLag}, nil
	}
	began := r.Clock.Now()
	leave, admitted := r.slots.Enter(request.Namespace, began)
	if !admitted {
		return ctrl.Result{RequeueAfter: slots.Retry}, nil
	}
	defer func() { leave(r.Clock.Now()) }()
	run, ended := newRun(n, r.Pipeline), outcome.Panicked()
	defer func() { result, err = r.conclude(ctx, run, ended, began) }()
	limited, cancel := context.WithTimeout(ctx, r.Timeout)
	defer cancel()
	ended, _ = outcome.Run(limited, run, r.stagesFor(run))
	ended = r.explainTimeout(ctx, limited, ended)
	return result, err
}
