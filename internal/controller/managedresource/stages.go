// SPDX-License-Identifier: Apache-2.0

package managedresource

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/time/rate"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	resourcesv1alpha1 "github.com/trellis-network/trellis/api/resources/v1alpha1"
	"github.com/trellis-network/trellis/internal/outcome"
	"github.com/trellis-network/trellis/internal/seedclient"
)

// ignore leaves the ManagedResource alone. The next run is a complete one, since it must
// replace the conditions that report this.
func (r *Reconciler) ignore(_ context.Context, run *run) outcome.Outcome {
	run.observed.inputs = ""
	run.ignored = true
	return outcome.Finish()
}

// claim adds the finalizer, and removes the annotation that requests a reconciliation.
// With it, the run reads all objects.
func (r *Reconciler) claim(ctx context.Context, run *run) outcome.Outcome {
	const annotation = extensionsv1alpha1.OperationAnnotation
	requested := run.mr.Annotations[annotation] == string(extensionsv1alpha1.OperationReconcile)
	if requested {
		run.observed.doubt()
	}
	return outcome.TryAgain(r.writer.patchMetadata(ctx, run, func(mr *resourcesv1alpha1.ManagedResource) {
		controllerutil.AddFinalizer(mr, r.options.finalizer())
		if requested {
			delete(mr.Annotations, annotation)
		}
	}))
}

// readSecrets reads the content, unless the last complete run was about the same.
func (r *Reconciler) readSecrets(ctx context.Context, run *run) outcome.Outcome {
	inputs, err := r.content.inputs(ctx, run.mr)
	if err != nil {
		return outcome.TryAgain(err)
	}
	if run.unchanged = inputs != "" && run.observed.inputs == inputs && isApplied(run.mr) &&
		run.mr.Status.ObservedGeneration == run.mr.Generation; run.unchanged {
		return outcome.Continue()
	}
	return r.content.read(ctx, run)
}

// planDeletion plans the deletion of everything in the inventory.
func (r *Reconciler) planDeletion(_ context.Context, run *run) outcome.Outcome {
	run.deleting, run.obsolete = true, run.mr.Status.Resources
	r.deletions.Update(client.ObjectKeyFromObject(run.mr), func(limiter *rate.Limiter, known bool) (*rate.Limiter, bool) {
		if !known {
			limiter = rate.NewLimiter(rate.Every(statusGatherTime), quickDeletions)
		}
		return limiter, true
	})
	return outcome.Continue()
}

// awaitWakeUp ends a run for a shoot that is hibernated, and closes the access to it. The
// conditions about what was applied before stay.
func (r *Reconciler) awaitWakeUp(ctx context.Context, run *run) outcome.Outcome {
	if r.options.Confined {
		return outcome.Continue() // the target is no shoot
	}
	hibernated, err := seedclient.IsHibernated(ctx, r.client, run.mr.Namespace)
	if err != nil || !hibernated {
		return outcome.TryAgain(err)
	}
	r.options.Shoots.Forget(run.mr.Namespace)
	isCurrent := run.unchanged || run.content.checksum == ptr.Deref(run.mr.Status.SecretsDataChecksum, "") && run.mr.Status.ObservedGeneration == run.mr.Generation
	if isCurrent && isApplied(run.mr) {
		return outcome.Finish().Within(r.options.SyncPeriod)
	}
	return outcome.Fail(&failure{reasonApplyFailed, errHibernated})
}

// connect connects to the shoot.
func (r *Reconciler) connect(ctx context.Context, run *run) outcome.Outcome {
	var err error
	if run.shoot, err = r.options.Shoots.For(ctx, run.mr.Namespace); err == nil {
		r.clusters.Set(run.mr.Namespace, run.shoot.Cluster)
		return outcome.Continue()
	}
	if !isAboutShoot(err) {
		return outcome.TryAgain(err)
	}
	if run.deleting {
		return failed(reasonDeletionFailed, err)
	}
	return failed(reasonApplyFailed, err)
}

// detectDrift compares the cache with what the last complete run left, and reads the
// content if they differ.
func (r *Reconciler) detectDrift(ctx context.Context, run *run) outcome.Outcome {
	if run.unchanged = run.unchanged && run.observed.isIntact(ctx, run.shoot) &&
		!r.absent.haveAppeared(ctx, kinds{run.shoot, run.mr.Namespace}, run.observed.absent, r.options.Clock.Now()); run.unchanged || run.content != nil {
		return outcome.Continue()
	}
	return r.content.read(ctx, run)
}

// ifChanged returns a stage that is skipped while nothing has changed since the last
// complete run.
func ifChanged(then func(context.Context, *run) outcome.Outcome) func(context.Context, *run) outcome.Outcome {
	return func(ctx context.Context, run *run) outcome.Outcome {
		if run.unchanged {
			return outcome.Continue()
		}
		return then(ctx, run)
	}
}

// compose makes the desired objects of the content, and compares them with the inventory.
func (r *Reconciler) compose(ctx context.Context, run *run) outcome.Outcome {
	k := kinds{run.shoot, run.mr.Namespace}
	d, err := (&composer{mr: run.mr, options: &r.options, kinds: k}).compose(ctx, run.content)
	if err != nil {
		return failed(reasonApplyFailed, run.shoot.Failure(err))
	}
	run.desired, run.recorded = d, k.inScope(run.mr.Status.Resources)
	run.inventory, run.obsolete = d.inventory, without(run.recorded, d.inventory)
	if len(d.problems) > 0 {
		// Any of the obsolete objects may be in what could not be decoded.
		run.inventory, run.obsolete = union(d.inventory, run.recorded), nil
	}
	return outcome.Continue()
}

// record writes the inventory of new content before the first of its objects is
// applied. It must write the status itself: if the process died after an
// object was created that no inventory names, the object would never be deleted.
func (r *Reconciler) record(ctx context.Context, run *run) outcome.Outcome {
	if apiequality.Semantic.DeepEqual(run.recorded, run.inventory) && ptr.Deref(run.mr.Status.SecretsDataChecksum, "") == run.content.checksum {
		return outcome.Continue()
	}
	run.setApplyProgressing()
	run.mr.Status.Resources = union(run.recorded, run.desired.inventory)
	err := r.writer.writeStatus(ctx, run)
	if outcome.IsTooLarge(err) {
		run.mr.Status.Resources = run.stored.Status.Resources
		return outcome.Fail(&failure{reasonApplyFailed, fmt.Errorf("the inventory of %d objects, with their labels and annotations, is larger than a status may be: state fewer or shorter ones, or use more ManagedResources",
			len(run.desired.items))}, corev1beta1.ErrorConfigurationProblem)
	}
	return outcome.TryAgain(err)
}

// prune deletes what is obsolete, and takes out of the inventory what is gone.
func (r *Reconciler) prune(ctx context.Context, run *run) outcome.Outcome {
	p := &pruner{run.shoot, r.ownersFor(run), run.mr, &r.options}
	gone, remaining, err := p.prune(ctx, run.obsolete)
	run.mr.Status.Resources = without(run.mr.Status.Resources, gone)
	for i := range gone {
		run.observed.forget(identityOf(&gone[i]))
	}
	switch {
	case err != nil:
		return failed(reasonDeletionFailed, run.shoot.Failure(err))
	case len(remaining) > 0:
		return outcome.Wait(describe(remaining), r.options.DeletionInterval)
	}
	return outcome.Continue()
}

func (r *Reconciler) ownersFor(run *run) *owners {
	return &owners{r.client, run.mr, run.shoot.Cluster, r.options.Class, &r.clusters}
}

// apply applies the desired objects.
func (r *Reconciler) apply(ctx context.Context, run *run) outcome.Outcome {
	a := &applier{
		shoot: run.shoot, owners: r.ownersFor(run), clock: run.clock, observed: run.observed,
		before: run.before, wasApplied: isApplied(run.mr), items: run.desired.items,
	}
	err := a.apply(ctx)
	if err != nil {
		run.missing = a.missing
		return failed(reasonApplyFailed, err)
	}
	run.mr.Status.Resources = run.inventory
	run.mr.Status.SecretsDataChecksum = &run.content.checksum
	run.mr.Status.ObservedGeneration = run.mr.Generation
	if len(run.desired.problems) > 0 {
		return failed(reasonDecodingFailed, errors.New(strings.Join(run.desired.problems, "; ")))
	}
	run.observed.complete(run.content.inputs, run.desired)
	run.applied = "All resources are applied." + leftOutMessage(run.desired.leftOut)
	return outcome.Continue()
}

// checkHealth checks the health of the objects in the inventory.
func (r *Reconciler) checkHealth(ctx context.Context, run *run) outcome.Outcome {
	found, err := healthOf(ctx, run.shoot, run.observed, run.mr.Status.Resources)
	if err != nil {
		return outcome.TryAgain(&failure{reasonHealthCheckError, err})
	}
	run.health = found
	if found == nil {
		return outcome.Finish().Within(cacheLag)
	}
	return outcome.Finish().Within(r.options.SyncPeriod)
}

// removeFinalizer ends the work for a ManagedResource. One that another class continues with
// has no objects here any more, and nothing to report about them.
func (r *Reconciler) removeFinalizer(ctx context.Context, run *run) outcome.Outcome {
	if run.mr.DeletionTimestamp.IsZero() {
		run.mr.Status = resourcesv1alpha1.ManagedResourceStatus{}
		if err := r.writer.writeStatus(ctx, run); err != nil {
			return outcome.TryAgain(err)
		}
	}
	run.finalized = true
	r.observed.Delete(client.ObjectKeyFromObject(run.mr))
	r.budget.Forget(client.ObjectKeyFromObject(run.mr))
	r.deletions.Delete(client.ObjectKeyFromObject(run.mr))
	return outcome.TryAgain(client.IgnoreNotFound(r.writer.patchMetadata(ctx, run, func(mr *resourcesv1alpha1.ManagedResource) {
		controllerutil.RemoveFinalizer(mr, r.options.finalizer())
	})))
}
