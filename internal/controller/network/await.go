// SPDX-License-Identifier: Apache-2.0

package network

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	resourcesv1alpha1 "github.com/trellis-network/trellis/api/resources/v1alpha1"
	"github.com/trellis-network/trellis/internal/bundle"
	"github.com/trellis-network/trellis/internal/outcome"
	"github.com/trellis-network/trellis/internal/state"
)

// awaiter waits for the resource manager.
type awaiter struct {
	codes   codes
	clock   clock.PassiveClock
	timeout time.Duration
}

// await waits until the resource manager has applied the awaited bundles, and fails once
// it is clear that it will not. It waits neither for nodes nor for health (N29), and for
// nothing while the shoot is hibernated (N28). What was written meanwhile is awaited once the
// shoot wakes up.
func (a awaiter) await(_ context.Context, run *run) outcome.Outcome {
	if run.State == nil || run.State.Written == nil {
		return outcome.Finish() // nothing is written that could be awaited
	}
	n := run.Network
	isDone := n.HasSucceeded() && (!run.State.Unapplied || run.Shoot.IsHibernated())
	if isDone && run.builds && !run.State.Unapplied {
		run.State.Applied, run.State.TakenOver = run.State.Written.Config, nil
	}
	if isDone && (!run.builds || n.Status.ObservedGeneration == n.Generation) {
		return outcome.Continue()
	}
	run.generation = run.State.Written.Generation
	pending := run.notApplied()
	if pending == nil || run.Shoot.IsHibernated() {
		run.applied, run.State.Unapplied = true, pending != nil
		return outcome.Continue()
	}
	mr := run.Managed[pending.Name]
	applied := bundle.AppliedCondition(mr)
	begun := metav1.NewTime(a.clock.Now())
	if last := n.Status.LastOperation; last != nil && !run.wrote && !n.HasSucceeded() {
		begun = last.LastUpdateTime
	}
	if !bundle.Hinders(applied) {
		if left := a.timeout - a.clock.Since(begun.Time); left > 0 {
			return outcome.Wait("the resource manager has applied the ManagedResource "+pending.Name, left)
		}
		return outcome.Fail(fmt.Errorf("the ManagedResource %s was not applied within %s: %s", pending.Name, a.timeout, whyNotApplied(mr, applied)))
	}
	cause := fmt.Errorf("the network's objects could not be applied in the shoot: %s", applied.Message)
	// A failure of former content may be over.
	isCurrent := applied.Status == corev1beta1.ConditionFalse && !applied.LastUpdateTime.Before(&begun)
	if codes := a.codes.in(applied); isCurrent && len(codes) > 0 {
		return outcome.Fail(cause, codes...)
	}
	if left := failingFor - a.clock.Since(begun.Time); left > 0 {
		return outcome.Wait("the resource manager can apply the ManagedResource "+pending.Name, left)
	}
	return outcome.Fail(cause, a.codes.lasting(applied)...)
}

// notApplied returns the first awaited bundle that is not applied, nil if all are.
func (r *run) notApplied() *state.Bundle {
	for i := range r.State.Bundles {
		each := &r.State.Bundles[i]
		if mr := r.Managed[each.Name]; each.Await && (mr == nil || !bundle.Applied(mr, each.Secret)) {
			return each
		}
	}
	return nil
}

// whyNotApplied tells what is missing of a ManagedResource that does not fail.
func whyNotApplied(mr *resourcesv1alpha1.ManagedResource, applied corev1beta1.Condition) string {
	switch {
	case mr == nil:
		return "it does not exist"
	case applied.Status == "":
		return "no resource manager has begun to apply it"
	case applied.Status == corev1beta1.ConditionTrue:
		return "its resource manager has not observed its present content"
	}
	return "its resource manager reports: " + applied.Message
}
