// SPDX-License-Identifier: Apache-2.0

package network

import (
	"context"
	"fmt"
	"reflect"
	"slices"

	logf "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/trellis-network/trellis/internal/outcome"
	"github.com/trellis-network/trellis/internal/state"
	"github.com/trellis-network/trellis/pipeline"
	"github.com/trellis-network/trellis/plugin"
)

// follower keeps shoots up to date with the webhook.
type follower struct {
	requests *requests
	writer   *bundleWriter
}

// followWebhook tells the shoot's API server how it reaches the webhook now, if that has
// changed since the network was written: it would refuse objects otherwise. It writes only
// the bundles that follow the webhook, built from the spec that was accepted, so that it
// needs no request of a user, and an invalid spec does not hinder it.
func (f follower) followWebhook(ctx context.Context, run *run) outcome.Outcome {
	if run.Network.RequestedOperation() != "" || !run.Plugin.IsMutator() || run.stateErr != nil {
		return outcome.Continue()
	}
	last := run.State.Applied
	if run.State.Written != nil {
		last = run.State.Written.Config
	}
	now := f.requests.Webhook(run.Network.Spec.Type)
	if last == nil || last.Accepted == nil || reflect.DeepEqual(last.Accepted.Webhook, now) {
		return outcome.Continue()
	}
	built, err := f.requests.buildAgain(ctx, run, last)
	if err == nil && len(built.Errors) > 0 {
		logf.FromContext(ctx).Info("The shoot could not be told of the webhook's new address", "reason", built.Errors.ToAggregate().Error())
		return outcome.Continue()
	}
	if err == nil {
		err = f.writeFollowers(ctx, run, built.Objects.Bundles)
	}
	if err != nil {
		return f.failed(run, fmt.Errorf("tell the shoot of the webhook's new address: %w", err))
	}
	for _, applied := range []*pipeline.Applied{last, run.State.Applied} {
		if applied != nil && applied.Accepted != nil {
			applied.Accepted.Webhook = now
		}
	}
	return outcome.Continue()
}

// failed returns the outcome for an error. It is about the spec that was written last, unless
// that of now is carried out. The error of a spec that was refused stays in the status.
func (f follower) failed(run *run, err error) outcome.Outcome {
	ended := outcome.TryAgain(err, f.requests.codes.of(err)...)
	if run.State.Written == nil {
		return ended.Unreported()
	}
	if !run.builds {
		run.generation = run.State.Written.Generation
	}
	return ended
}

// writeFollowers writes those of the bundles that follow the webhook, deletes those that
// are not built any more, and changes the state accordingly.
func (f follower) writeFollowers(ctx context.Context, run *run, built []plugin.Bundle) error {
	follows := slices.DeleteFunc(slices.Clone(built), func(b plugin.Bundle) bool { return !b.FollowsWebhook })
	wanted, err := bundlesOf(run, follows)
	if err != nil {
		return err
	}
	bundles := slices.DeleteFunc(slices.Clone(run.State.Bundles), func(b state.Bundle) bool { return b.FollowsWebhook })
	for i := range wanted {
		bundles = append(bundles, wanted[i].Bundle)
	}
	var obsolete []string
	for _, before := range run.State.Bundles {
		mr := run.Managed[before.Name]
		isWanted := slices.ContainsFunc(bundles, func(b state.Bundle) bool { return b.Name == before.Name })
		if !isWanted && mr != nil && !isBeingDeleted(mr) {
			obsolete = append(obsolete, before.Name)
		}
	}
	if err := f.writer.put(ctx, run, wanted, obsolete); err != nil {
		return err
	}
	for _, name := range obsolete {
		delete(run.Managed, name)
	}
	slices.SortStableFunc(bundles, func(a, b state.Bundle) int { return a.Phase - b.Phase })
	run.State.Bundles = bundles
	return nil
}
