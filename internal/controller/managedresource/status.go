// SPDX-License-Identifier: Apache-2.0

package managedresource

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	resourcesv1alpha1 "github.com/trellis-network/trellis/api/resources/v1alpha1"
	"github.com/trellis-network/trellis/internal/budget"
	"github.com/trellis-network/trellis/internal/condition"
	"github.com/trellis-network/trellis/internal/metrics"
	"github.com/trellis-network/trellis/internal/outcome"
)

// Reasons of conditions (Gardener contract, conditions of ManagedResources).
const (
	reasonApplySucceeded   = "ApplySucceeded"
	reasonApplyProgressing = "ApplyProgressing"
	reasonApplyFailed      = "ApplyFailed"
	reasonDecodingFailed   = "DecodingFailed"
	reasonCannotReadSecret = "CannotReadSecret"
	reasonDeletionPending  = "DeletionPending"
	reasonDeletionFailed   = "DeletionFailed"
	reasonIgnored          = "ManagedResourceIgnored"
	reasonChecksPending    = "ChecksPending"
	reasonHealthCheckError = "HealthCheckError"
	reasonResourcesHealthy = "ResourcesHealthy"
	reasonResourcesRolled  = "ResourcesRolledOut"
	// Reasons that begin with the kind of an object.
	suffixMissing     = "Missing"
	suffixUnhealthy   = "Unhealthy"
	suffixProgressing = "Progressing"
)

// report turns the outcome of a run into the status, the event, the log line, the metrics
// and the answer for controller-runtime.
func (r *Reconciler) report(ctx context.Context, run *run, ended outcome.Outcome, began time.Time) (reconcile.Result, error) {
	ended = r.tell(ctx, run, ended)
	metrics.Reconciled(r.options.controllerName(), "", ended, r.options.Clock.Since(began))
	return ended.Result()
}

// tell writes the status, the event and the log line, and returns the outcome that this
// leaves. A run that ended with a terminal error is repeated every sync period, since the
// shoot can change without an event, and one that put off what it found once that can be told,
// unless it is retried with back-off.
func (r *Reconciler) tell(ctx context.Context, run *run, ended outcome.Outcome) outcome.Outcome {
	if ctx.Err() != nil || ended.Kind() == outcome.Stale {
		return ended // The process is about to end, or the run read an old cache, or panicked.
	}
	run.setConditions(ended)
	run.putOffMessages()
	run.putOffConditions(&r.budget)
	if err := r.writer.writeStatus(ctx, run); err != nil && ended.Kind() != outcome.Retry {
		return outcome.TryAgain(err)
	} else if err == nil && run.content != nil {
		run.observed.told = run.content.inputs
	}
	announce(ctx, r.recorder, run, ended)
	if ended.Kind() == outcome.Terminal {
		ended = ended.Within(r.options.SyncPeriod)
	}
	if run.untold > 0 && ended.Kind() != outcome.Retry {
		ended = ended.Within(run.untold)
	}
	return ended
}

// writer writes ManagedResources. A patch is refused if the ManagedResource has changed
// since it was read: an inventory must never be replaced by one that lacks objects, and a
// merge patch replaces the list of finalizers.
type writer struct{ client client.Client }

// writeStatus patches the status if it has changed. Besides report, only the stages record and
// removeFinalizer call it, since the process may die before they write what follows. A status
// that is too large is written with short messages.
func (w writer) writeStatus(ctx context.Context, run *run) error {
	if run.finalized || apiequality.Semantic.DeepEqual(run.stored.Status, run.mr.Status) {
		return nil
	}
	patch := client.MergeFromWithOptions(run.stored, client.MergeFromWithOptimisticLock{})
	err := w.client.Status().Patch(ctx, run.mr, patch)
	if outcome.IsTooLarge(err) {
		for i := range run.mr.Status.Conditions {
			c := &run.mr.Status.Conditions[i]
			c.Message = condition.Shorten(c.Message, shortMessage)
		}
		err = w.client.Status().Patch(ctx, run.mr, patch)
	}
	if err != nil {
		return client.IgnoreNotFound(err)
	}
	run.stored = run.mr.DeepCopy()
	return nil
}

// patchMetadata changes the metadata of the ManagedResource, if need be.
func (w writer) patchMetadata(ctx context.Context, run *run, change func(*resourcesv1alpha1.ManagedResource)) error {
	changed := run.stored.DeepCopy()
	if change(changed); apiequality.Semantic.DeepEqual(changed.ObjectMeta, run.stored.ObjectMeta) {
		return nil
	}
	if err := w.client.Patch(ctx, changed, client.MergeFromWithOptions(run.stored, client.MergeFromWithOptimisticLock{})); err != nil {
		return err
	}
	run.mr, run.stored = changed, changed.DeepCopy()
	return nil
}

// setConditions sets the conditions at the end of a run.
func (r *run) setConditions(ended outcome.Outcome) {
	const applied, healthy, progressing = resourcesv1alpha1.ResourcesApplied, resourcesv1alpha1.ResourcesHealthy, resourcesv1alpha1.ResourcesProgressing
	if r.ignored {
		const message = "The ManagedResource is marked to be ignored."
		r.setCondition(applied, corev1beta1.ConditionTrue, reasonIgnored, message)
		r.setCondition(healthy, corev1beta1.ConditionTrue, reasonIgnored, message)
		r.setCondition(progressing, corev1beta1.ConditionFalse, reasonIgnored, message)
		return
	}
	if r.deleting {
		const message = "The objects are being deleted."
		r.setCondition(healthy, corev1beta1.ConditionFalse, reasonDeletionPending, message)
		r.setCondition(progressing, corev1beta1.ConditionTrue, reasonDeletionPending, message)
	}
	if r.applied != "" {
		r.setCondition(applied, corev1beta1.ConditionTrue, reasonApplySucceeded, r.applied)
	}
	if ended.Kind() == outcome.Waiting {
		r.setCondition(applied, corev1beta1.ConditionProgressing, reasonDeletionPending, "Waiting until "+ended.Reason())
	}
	var failed *failure
	if errors.As(ended.Err(), &failed) && failed.reason != reasonHealthCheckError {
		r.urgent = errors.As(failed.err, new(*recreating)) && r.observed.recreations.AllowN(r.clock.Now(), 1)
		r.setCondition(applied, corev1beta1.ConditionFalse, failed.reason, failed.Error(), ended.Codes()...)
	}
	switch {
	case r.deleting:
	case failed != nil && (failed.reason == reasonHealthCheckError || isAboutShoot(failed.err)):
		message := "The health of the objects cannot be checked: " + failed.Error()
		r.setCondition(healthy, corev1beta1.ConditionUnknown, reasonHealthCheckError, message)
		r.setCondition(progressing, corev1beta1.ConditionUnknown, reasonHealthCheckError, message)
	case failed != nil:
		r.setChecksPending()
	case r.health != nil:
		r.setHealth()
	}
}

func (r *run) setHealth() {
	status, reason, message := corev1beta1.ConditionTrue, reasonResourcesHealthy, "All resources are healthy."
	if bad := r.health.unhealthy; bad != nil {
		status, reason, message = corev1beta1.ConditionFalse, bad.kind+suffixUnhealthy, bad.message
	}
	r.setCondition(resourcesv1alpha1.ResourcesHealthy, status, reason, message)
	status, reason, message = corev1beta1.ConditionFalse, reasonResourcesRolled, "All resources have been fully rolled out."
	if going := r.health.progressing; going != nil {
		status, reason, message = corev1beta1.ConditionTrue, going.kind+suffixProgressing, going.message
	}
	r.setCondition(resourcesv1alpha1.ResourcesProgressing, status, reason, message)
}

// setChecksPending withdraws what the conditions report about health and progress, and
// reports an object that this run found missing.
func (r *run) setChecksPending() {
	const message = "Health is checked once all objects are applied."
	r.setCondition(resourcesv1alpha1.ResourcesProgressing, corev1beta1.ConditionUnknown, reasonChecksPending, message)
	if r.missing != nil {
		r.setCondition(resourcesv1alpha1.ResourcesHealthy, corev1beta1.ConditionFalse, r.missing.Kind+suffixMissing,
			fmt.Sprintf("%s is missing in the shoot.", r.missing))
		return
	}
	r.setCondition(resourcesv1alpha1.ResourcesHealthy, corev1beta1.ConditionUnknown, reasonChecksPending, message)
}

// setApplyProgressing sets the conditions while new content is applied (R24). A failure
// stays visible until it is overcome.
func (r *run) setApplyProgressing() {
	r.setChecksPending()
	reason := condition.Value(r.mr.Status.Conditions, resourcesv1alpha1.ResourcesApplied).Reason
	if !slices.Contains([]string{reasonApplyFailed, reasonDeletionFailed, reasonDeletionPending}, reason) {
		r.setCondition(resourcesv1alpha1.ResourcesApplied, corev1beta1.ConditionProgressing, reasonApplyProgressing, "The objects are being applied.")
	}
}

func (r *run) setCondition(conditionType string, status corev1beta1.ConditionStatus, reason, message string, codes ...corev1beta1.ErrorCode) {
	r.mr.Status.Conditions, _ = condition.Set(r.mr.Status.Conditions, corev1beta1.Condition{
		Type: conditionType, Status: status, Reason: reason, Codes: codes,
		Message: condition.Shorten(message, condition.MaxMessage),
	}, r.clock.Now())
}

// putOffMessages takes new messages back if this run changed nothing else of the status, until
// one of the messages that are there is quietPeriod old: a cluster must not decide how often the
// seed is written to. Urgent messages, and those about content that was not told of before, stay.
func (r *run) putOffMessages() {
	if r.tellsAtOnce() {
		return
	}
	now, untold, status := r.clock.Now(), quietPeriod, r.mr.Status.DeepCopy()
	for i := range status.Conditions {
		c := &status.Conditions[i]
		before := condition.Value(r.initial.Status.Conditions, c.Type)
		if c.Message == before.Message || c.Status != before.Status || c.Reason != before.Reason || !slices.Equal(c.Codes, before.Codes) {
			continue
		}
		age := now.Sub(before.LastUpdateTime.Time)
		if age < 0 || age >= quietPeriod {
			return
		}
		untold = min(untold, quietPeriod-age)
		*c = before
	}
	if !apiequality.Semantic.DeepEqual(*status, r.mr.Status) && apiequality.Semantic.DeepEqual(*status, r.initial.Status) {
		r.mr.Status, r.untold = *status, untold
	}
}

// putOffConditions takes new conditions back if this run changed nothing else of the status and
// the cluster has changed them too often lately.
func (r *run) putOffConditions(b *budget.Budget) {
	before := r.mr.Status.DeepCopy()
	before.Conditions = r.initial.Status.Conditions
	if r.tellsAtOnce() || r.finalized || apiequality.Semantic.DeepEqual(r.mr.Status, r.initial.Status) ||
		!apiequality.Semantic.DeepEqual(*before, r.initial.Status) {
		return
	}
	wait := b.Spend(r.mr, r.clock.Now())
	if wait == 0 {
		return
	}
	if isApplied(r.initial) && !isApplied(r.mr) {
		r.observed.inputs = "" // the next run must not take the status at its word
	}
	r.mr.Status, r.untold = *before, wait
}

// tellsAtOnce reports that nothing of what the run found is put off.
func (r *run) tellsAtOnce() bool {
	return r.urgent || r.content != nil && r.content.inputs != r.observed.told
}

// isApplied reports whether, according to the status, all objects are applied.
func isApplied(mr *resourcesv1alpha1.ManagedResource) bool {
	return condition.IsTrue(mr.Status.Conditions, resourcesv1alpha1.ResourcesApplied)
}
