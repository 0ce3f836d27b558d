// SPDX-License-Identifier: Apache-2.0

package network

import (
	"context"
	"errors"
	"fmt"

	ctrl "sigs.k8s.io/controller-runtime"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	resourcesv1alpha1 "github.com/trellis-network/trellis/api/resources/v1alpha1"
	"github.com/trellis-network/trellis/internal/bundle"
	"github.com/trellis-network/trellis/internal/seed"
	"github.com/trellis-network/trellis/internal/state"
)

// observe looks after the bundles that were written last, whatever the spec says
// by now.
func (w *work) observe(ctx context.Context) (ctrl.Result, error) {
	kept, err := state.Decode(w.network.Status.State)
	if err != nil || kept.Written == nil {
		return ctrl.Result{}, nil
	}
	if w.owes(kept.Written) {
		if err := w.findManaged(ctx, w.live); err != nil { // the cache may only be late
			return ctrl.Result{}, err
		}
		if w.owes(kept.Written) {
			return w.reconcile(ctx)
		}
	}
	if succeeded(w.network) {
		return ctrl.Result{}, nil
	}
	return w.observeWritten(ctx, kept)
}

// observeWritten turns what the resource manager says of the written bundle
// into the Network's status: Succeeded once it is applied, Error once it is clear
// that it will not be. Nodes and health are nobody's concern here.
func (w *work) observeWritten(ctx context.Context, kept *state.State) (ctrl.Result, error) {
	if w.sleeps() || w.managed[seed.Main] != nil && bundle.Applied(w.managed[seed.Main], kept.Written.Bundle) {
		if err := w.success(ctx, kept); err != nil {
			return ctrl.Result{}, err
		}
		return ctrl.Result{}, w.answer(ctx, extensionsv1alpha1.OperationRestore)
	}
	if w.network.Status.LastOperation == nil { // somebody has taken it off
		if err := w.processing(ctx, nil, false); err != nil {
			return ctrl.Result{}, err
		}
	}
	applied := w.appliedCondition()
	begun := w.network.Status.LastOperation.LastUpdateTime
	if !hinders(applied) {
		if left := w.Timeout - w.Clock.Since(begun.Time); left > 0 {
			return ctrl.Result{RequeueAfter: left}, nil
		}
		return ctrl.Result{}, w.error(ctx, kept.Written.Generation, nil, w.notApplied(applied))
	}
	cause := fmt.Errorf("the network's objects could not be applied in the shoot: %s", applied.Message)
	if codes := w.incurable(applied); len(codes) > 0 && !applied.LastUpdateTime.Before(&begun) {
		return ctrl.Result{}, w.error(ctx, kept.Written.Generation, nil, cause, codes...)
	}
	if left := failingFor - w.Clock.Since(begun.Time); left > 0 {
		return ctrl.Result{RequeueAfter: left}, nil
	}
	return ctrl.Result{}, w.error(ctx, kept.Written.Generation, nil, cause, w.lasting(applied)...)
}

// appliedCondition is what the resource manager says of the bundle; the zero one where
// it has not said anything yet. What observes a later generation than there is was said
// of another ManagedResource.
func (w *work) appliedCondition() corev1beta1.Condition {
	if mr := w.managed[seed.Main]; mr != nil && mr.Status.ObservedGeneration <= mr.Generation {
		if applied := conditionOf(mr, resourcesv1alpha1.ResourcesApplied); applied != nil {
			return *applied
		}
	}
	return corev1beta1.Condition{}
}

// notApplied says what was waited for in vain: it is nobody's failure as yet.
func (w *work) notApplied(applied corev1beta1.Condition) error {
	definition, _ := w.Pipeline.Plugin(w.network.Spec.Type)
	what := fmt.Sprintf("the ManagedResource %s was waited for in vain for %s", seed.Main.ManagedResource(&definition), w.Timeout)
	switch {
	case w.managed[seed.Main] == nil:
		return errors.New(what + ": it does not exist")
	case applied.Status == "":
		return errors.New(what + ": no resource manager has begun to apply it")
	case applied.Status == corev1beta1.ConditionTrue:
		return errors.New(what + ": its resource manager has not looked at its present content")
	default:
		return errors.New(what + ": its resource manager says: " + applied.Message)
	}
}

// hinders says whether a resource manager has met something that keeps it from
// applying. Gardener's says Progressing again at the begin of each pass and keeps
// the reason, so neither the status nor the time of its transition tell for how
// long; the operation's own time does. What is obsolete and does not go hinders all
// the rest, and is no failure by itself.
func hinders(applied corev1beta1.Condition) bool {
	switch applied.Reason {
	case "ApplyFailed", "DeletionFailed", "DeletionPending":
		return true
	}
	return applied.Status == corev1beta1.ConditionFalse
}

func conditionOf(mr *resourcesv1alpha1.ManagedResource, conditionType string) *corev1beta1.Condition {
	for i := range mr.Status.Conditions {
		if mr.Status.Conditions[i].Type == conditionType {
			return &mr.Status.Conditions[i]
		}
	}
	return nil
}

// stuck is why a ManagedResource does not go away, in the resource manager's
// words.
func stuck(mr *resourcesv1alpha1.ManagedResource) error {
	if applied := conditionOf(mr, resourcesv1alpha1.ResourcesApplied); applied != nil {
		return errors.New(applied.Message)
	}
	return errors.New("no resource manager has begun to delete them")
}
