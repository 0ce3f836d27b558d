// SPDX-License-Identifier: Apache-2.0

package managedresource

import (
	"context"
	"time"

	"golang.org/x/time/rate"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	resourcesv1alpha1 "github.com/trellis-network/trellis/api/resources/v1alpha1"
	"github.com/trellis-network/trellis/internal/budget"
	"github.com/trellis-network/trellis/internal/keyed"
	"github.com/trellis-network/trellis/internal/outcome"
	"github.com/trellis-network/trellis/internal/shootclient"
	"github.com/trellis-network/trellis/internal/slots"
)

// Reconciler reconciles ManagedResources.
type Reconciler struct {
	client   client.Client
	content  contentReader
	writer   writer
	options  Options
	recorder events.EventRecorder
	observed keyed.Map[types.NamespacedName, *observations]
	absent   absentKinds
	slots    *slots.Slots
	// budget limits how often conditions change that clusters alone decide about.
	budget budget.Budget
	// clusters are those to which kubeconfigs led, by the namespace of the control plane, and
	// triggered when an event in a cluster last triggered a run at once.
	clusters  keyed.Map[string, shootclient.Cluster]
	triggered keyed.Map[types.NamespacedName, time.Time]
	// deletions limit how often the end of an object triggers a run that deletes what comes next.
	deletions keyed.Map[types.NamespacedName, *rate.Limiter]
}

var _ reconcile.Reconciler = &Reconciler{}

// newReconciler returns a Reconciler. cached reads the metadata of Secrets from a cache,
// live reads Secrets from the API server.
func newReconciler(seed client.Client, cached, live client.Reader, recorder events.EventRecorder, options Options) *Reconciler {
	return &Reconciler{client: seed, content: contentReader{cached, live}, writer: writer{seed}, options: options, recorder: recorder, slots: slots.New(slots.For(options.MaxConcurrentReconciles))}
}

// stage is one step of a run.
type stage = outcome.Stage[*run]

// reconciliation applies a ManagedResource. What has not changed since the last
// complete run is neither read nor applied again.
func (r *Reconciler) reconciliation() []stage {
	return []stage{
		{Name: "claim", Run: r.claim},
		{Name: "read the Secrets", Run: r.readSecrets},
		{Name: "await that the shoot wakes up", Run: r.awaitWakeUp},
		{Name: "connect to the shoot", Run: r.connect},
		{Name: "detect drift", Run: r.detectDrift},
		{Name: "compose the desired objects", Run: ifChanged(r.compose)},
		{Name: "record the inventory", Run: ifChanged(r.record)},
		{Name: "prune", Run: ifChanged(r.prune)},
		{Name: "apply", Run: ifChanged(r.apply)},
		{Name: "check health", Run: r.checkHealth},
	}
}

// deletion deletes the objects of a ManagedResource that is being deleted, or that was
// given to another class.
func (r *Reconciler) deletion(keepObjects bool) []stage {
	end := stage{Name: "remove the finalizer", Run: r.removeFinalizer}
	if keepObjects {
		return []stage{end}
	}
	return []stage{
		{Name: "plan the deletion", Run: r.planDeletion},
		{Name: "connect to the shoot", Run: r.connect},
		{Name: "delete the objects", Run: r.prune},
		end,
	}
}

// stagesFor returns what must be done for a ManagedResource now.
func (r *Reconciler) stagesFor(mr *resourcesv1alpha1.ManagedResource) []stage {
	deleting, ours := !mr.DeletionTimestamp.IsZero(), ClassOf(mr) == r.options.Class
	claimed := controllerutil.ContainsFinalizer(mr, r.options.finalizer())
	switch {
	case !ours && !claimed:
		return nil
	case !deleting && truthy(mr.Annotations[resourcesv1alpha1.Ignore]):
		return []stage{{Name: "ignore", Run: r.ignore}}
	case claimed && (deleting || !ours):
		keep := deleting && ptr.Deref(mr.Spec.KeepObjects, false)
		return r.deletion(keep || len(mr.Status.Resources) == 0)
	case deleting || r.options.hasOtherFinalizer(mr):
		return nil
	}
	return r.reconciliation()
}

// run is one reconciliation of one ManagedResource. Each stage adds what it found.
type run struct {
	// mr is the ManagedResource. Its status is written when the run has ended.
	mr *resourcesv1alpha1.ManagedResource
	// stored is mr as it was last read or written.
	stored *resourcesv1alpha1.ManagedResource
	// initial is mr as the run began.
	initial *resourcesv1alpha1.ManagedResource
	// observed is what former runs observed.
	observed *observations
	// before is the inventory that the run began with.
	before map[identity]*reference
	shoot  *shootclient.Shoot
	// content of the Secrets; nil while unchanged is true.
	content *content
	// unchanged reports that nothing differs from the last complete run.
	unchanged bool
	desired   *desired
	// recorded is the inventory of former runs, inventory what it becomes once everything
	// is applied, and obsolete what must be deleted before.
	recorded, inventory, obsolete []reference
	clock                         clock.PassiveClock

	// What the conditions report.

	ignored bool
	// deleting reports that all objects are being deleted.
	deleting bool
	// missing is an object that is gone from the shoot and could not be created again.
	missing *identity
	// applied is a message, empty unless everything was applied.
	applied string
	// health of the objects, nil while it is unknown.
	health *health
	// urgent reports that the conditions are told at once.
	urgent bool
	// untold is after which time what was put off can be told; 0 if nothing was.
	untold time.Duration
	// finalized reports that the finalizer was removed, so that nothing must be written.
	finalized bool
}

func (r *Reconciler) newRun(mr *resourcesv1alpha1.ManagedResource) *run {
	next := &run{mr: mr, stored: mr.DeepCopy(), before: map[identity]*reference{}, clock: r.options.Clock}
	next.observed = r.observed.Update(client.ObjectKeyFromObject(mr), func(o *observations, known bool) (*observations, bool) {
		if !known || o.uid != mr.UID {
			o = newObservations(mr.UID)
		}
		return o, true
	})
	next.initial = next.stored
	for i := range next.stored.Status.Resources {
		ref := &next.stored.Status.Resources[i]
		next.before[identityOf(ref)] = ref
	}
	return next
}

// Reconcile implements reconcile.Reconciler.
func (r *Reconciler) Reconcile(ctx context.Context, request reconcile.Request) (result reconcile.Result, err error) {
	mr := &resourcesv1alpha1.ManagedResource{}
	if err := r.client.Get(ctx, request.NamespacedName, mr); err != nil {
		if apierrors.IsNotFound(err) {
			return reconcile.Result{}, r.forget(ctx, request.NamespacedName)
		}
		return reconcile.Result{}, err
	}
	if r.options.IsOthers != nil && r.options.IsOthers(ctx, request.Namespace) {
		return reconcile.Result{RequeueAfter: r.options.SyncPeriod}, nil // it may be this operator's by then
	}
	began := r.options.Clock.Now()
	leave, admitted := r.slots.Enter(request.Namespace, began)
	if !admitted {
		return reconcile.Result{RequeueAfter: slots.Retry}, nil
	}
	defer func() { leave(r.options.Clock.Now()) }()
	run, ended := r.newRun(mr), outcome.Panicked()
	defer func() { result, err = r.report(ctx, run, ended, began) }()
	limited, cancel := context.WithTimeout(ctx, max(r.options.SyncPeriod, minTimeout))
	defer cancel()
	ended, _ = outcome.Run(limited, run, r.stagesFor(mr))
	return result, err
}

// forget forgets a ManagedResource that does not exist, and the shoot if it was
// the last one there.
func (r *Reconciler) forget(ctx context.Context, name types.NamespacedName) error {
	r.observed.Delete(name)
	r.budget.Forget(name)
	r.triggered.Delete(name)
	r.deletions.Delete(name)
	list := &resourcesv1alpha1.ManagedResourceList{}
	if err := r.client.List(ctx, list, client.InNamespace(name.Namespace)); err != nil {
		return err
	}
	for i := range list.Items {
		if ClassOf(&list.Items[i]) == r.options.Class {
			return nil
		}
	}
	r.slots.Forget(name.Namespace)
	r.clusters.Delete(name.Namespace)
	r.options.Shoots.Forget(name.Namespace)
	return nil
}
