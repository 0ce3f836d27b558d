// SPDX-License-Identifier: Apache-2.0

package network

import (
	"context"
	"errors"
	"fmt"
	"regexp"

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
	switch {
	case err != nil || kept.Written == nil:
		return ctrl.Result{}, nil
	case w.owes(kept.Written):
		return w.reconcile(ctx)
	case succeeded(w.network):
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
	if w.managed[seed.Main] == nil || w.managed[seed.Main].Status.ObservedGeneration > w.managed[seed.Main].Generation {
		return ctrl.Result{}, nil
	}
	applied := conditionOf(w.managed[seed.Main], resourcesv1alpha1.ResourcesApplied)
	if applied == nil || !hinders(applied) {
		return ctrl.Result{}, nil
	}
	cause := fmt.Errorf("the network's objects could not be applied in the shoot: %s", applied.Message)
	begun := w.network.Status.LastOperation.LastUpdateTime
	if code := incurable(applied); code != "" && !applied.LastUpdateTime.Before(&begun) {
		return ctrl.Result{}, w.error(ctx, kept.Written.Generation, nil, cause, code)
	}
	if left := failingFor - w.Clock.Since(begun.Time); left > 0 {
		return ctrl.Result{RequeueAfter: left}, nil
	}
	return ctrl.Result{}, w.error(ctx, kept.Written.Generation, nil, cause)
}

// hinders says whether a resource manager has met something that keeps it from
// applying. Gardener's says Progressing again at the begin of each pass and keeps
// the reason, so neither the status nor the time of its transition tell for how
// long; the operation's own time does. What is obsolete and does not go hinders all
// the rest, and is no failure by itself.
func hinders(applied *corev1beta1.Condition) bool {
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

// refused matches what the API server says of an object that it will never take.
// The resource manager's message is all that tells it apart: Gardener's own
// clients read it the same way (section 2.7).
var refused = regexp.MustCompile(`(?is)error during apply of object .* is invalid:`)

// incurable returns the code of a failure that retrying won't cure, or nothing.
// Trellis' own resource manager says the code where it knows the error. What is
// not said of what was written last may be over.
func incurable(applied *corev1beta1.Condition) corev1beta1.ErrorCode {
	if applied.Status != corev1beta1.ConditionFalse {
		return ""
	}
	if len(applied.Codes) > 0 {
		return applied.Codes[0]
	}
	if applied.Reason == "DecodingFailed" || refused.MatchString(applied.Message) {
		return corev1beta1.ErrorConfigurationProblem
	}
	return ""
}

// stuck is why a ManagedResource does not go away, in the resource manager's
// words.
func stuck(mr *resourcesv1alpha1.ManagedResource) error {
	if applied := conditionOf(mr, resourcesv1alpha1.ResourcesApplied); applied != nil {
		return errors.New(applied.Message)
	}
	return errors.New("no resource manager has begun to delete them")
}
