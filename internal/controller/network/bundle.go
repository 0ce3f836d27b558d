// SPDX-License-Identifier: Apache-2.0

package network

import (
	"context"
	"slices"

	"github.com/trellis-network/trellis/internal/condition"
	"github.com/trellis-network/trellis/internal/outcome"
	"github.com/trellis-network/trellis/internal/state"
)

// bundle makes bundles of what was built, and finds out whether they are written already.
func (b *bundleBuilder) bundle(ctx context.Context, run *run) outcome.Outcome {
	if !run.builds {
		return outcome.Continue()
	}
	if run.refused == nil {
		run.wanted, run.refused = bundlesOf(run, run.built.Objects.Bundles)
	}
	if run.refused != nil {
		if way := run.State.Transition; way != nil && run.State.Written != nil {
			way.Present = run.State.Written.Config.Config // where it goes on
		}
		run.State.Written = nil // so that its success is not taken for that of the spec
		return outcome.Continue()
	}
	isUnknown := func(each wantedBundle) bool { return run.Managed[each.Name] == nil }
	if slices.ContainsFunc(run.wanted, isUnknown) {
		if err := run.read(ctx, b.cached); err != nil {
			return outcome.TryAgain(err)
		}
	}
	return b.compare(ctx, run)
}

// compare finds out whether the bundles are written as they were built, and puts them into
// the state. It waits where one can only be written after its former one is gone.
func (b *bundleBuilder) compare(ctx context.Context, run *run) outcome.Outcome {
	for i := range run.built.Warnings {
		run.built.Warnings[i].Message = condition.Shorten(run.built.Warnings[i].Message, condition.MaxMessage)
	}
	run.former = formerOf(run.State)
	next := &state.Written{
		Generation: run.builtGeneration(),
		Config:     run.built.Applied(),
		IPFamilies: run.built.IPFamilies,
		Warnings:   run.built.Warnings,
	}
	bundles := make([]state.Bundle, len(run.wanted))
	for i := range run.wanted {
		bundles[i] = run.wanted[i].Bundle
	}
	run.changed = !run.State.IsFor(next, bundles)
	same := !run.asksForOperation && !run.changed
	written := run.checkManaged()
	if same && !written { // the cache may be late
		if err := run.read(ctx, b.live); err != nil {
			return outcome.TryAgain(err)
		}
		written = run.checkManaged()
	}
	run.unchanged = same && written
	if same && !written && run.awaitsDeletion && !run.Network.HasSucceeded() {
		return awaitDeletion(run, b.Clock.Now())
	}
	if !run.changed {
		next = run.State.Kept(next)
	}
	run.State.Written, run.State.Bundles = next, bundles
	if way := run.State.Transition; way != nil {
		way.Present = nil
	}
	if !run.unchanged {
		run.State.Components = run.built.Objects.Components
	}
	return outcome.Continue()
}

// checkManaged compares the ManagedResources with the bundles that the spec asks for. It
// finds those that are obsolete or being deleted, and reports whether nothing can be
// written now: each bundle is written, or its ManagedResource is being deleted and the event
// of its end leads to the next run. That of an awaited bundle must be there.
func (r *run) checkManaged() bool {
	r.obsolete, r.awaitsDeletion = nil, false
	for _, name := range r.BundleNames() {
		wanted := slices.ContainsFunc(r.wanted, func(b wantedBundle) bool { return b.Name == name })
		if mr := r.Managed[name]; !wanted && mr != nil && !isBeingDeleted(mr) {
			r.obsolete = append(r.obsolete, name)
		}
	}
	written := len(r.obsolete) == 0
	for i := range r.wanted {
		each := &r.wanted[i]
		mr := r.Managed[each.Name]
		r.awaitsDeletion = r.awaitsDeletion || each.Await && isBeingDeleted(mr)
		written = written && (each.content.Written(mr) || !each.Await && isBeingDeleted(mr))
	}
	return written
}
