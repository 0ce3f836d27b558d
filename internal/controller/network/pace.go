// SPDX-License-Identifier: Apache-2.0

package network

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"reflect"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/internal/bundle"
	"github.com/trellis-network/trellis/internal/jsonequal"
	"github.com/trellis-network/trellis/internal/outcome"
	"github.com/trellis-network/trellis/internal/state"
	"github.com/trellis-network/trellis/internal/wave"
	"github.com/trellis-network/trellis/pipeline"
	"github.com/trellis-network/trellis/plugin"
)

// pacekeeper holds back what a new version or a changed setting of the operator makes of a spec that its
// user has not changed, until its turn has come, and judges what became of it.
type pacekeeper struct {
	pacer    *wave.Pacer // nil paces nothing
	requests *requests
	recorder events.EventRecorder
	clock    clock.PassiveClock
}

// formerState is what of the state a run overwrites that builds.
type formerState struct {
	written    *state.Written
	bundles    []state.Bundle
	components []plugin.Component
}

func formerOf(s *state.State) formerState { return formerState{s.Written, s.Bundles, s.Components} }

// pace decides whether what was built may be written. What waits changes nothing else: requests are
// answered, and what was written before is awaited and reported.
func (k pacekeeper) pace(ctx context.Context, run *run) outcome.Outcome {
	switch {
	case run.State == nil:
		return outcome.Continue()
	case k.pacer == nil:
		run.State.Rollout, run.State.Inputs = nil, nil
		return outcome.Continue()
	}
	k.judge(run)
	switch {
	case !run.builds:
		return outcome.TryAgain(k.explain(ctx, run)).Unreported()
	case run.refused != nil || run.awaitsDeletion:
		return outcome.Continue()
	case run.steps || !run.isOutdated(): // the steps of a user's change do not wait
		k.settle(run)
		return outcome.Continue()
	}
	isUsers, err := k.isUsersChange(ctx, run)
	if err != nil {
		return outcome.TryAgain(err, k.requests.codes.of(err)...)
	}
	if isUsers {
		k.settle(run)
		return outcome.Continue()
	}
	verdict, err := k.pacer.Admit(ctx, run.Network)
	if err != nil {
		return outcome.TryAgain(err).Unreported()
	}
	if run.admitted = verdict.Admits(); run.admitted {
		run.State.Rollout, run.State.Inputs = k.pacer.Begin(&run.Network.Status, k.clock.Now()), inputsOf(run)
		return outcome.Continue()
	}
	run.hold()
	k.wait(run, verdict)
	run.judgedAgain = askedAgain
	return outcome.Continue()
}

// judge finds out what became of an update.
func (k pacekeeper) judge(run *run) {
	if !run.State.Rollout.Is(wave.Progressing) {
		return
	}
	var judged wave.Record
	judged, run.judgedAgain = k.pacer.Judge(*run.State.Rollout, &run.Network.Status, k.clock.Now())
	run.State.Rollout = &judged
}

// explain has a Network that waits, and of which nothing is built now, tell what it waits for: its
// turn, or else a request.
func (k pacekeeper) explain(ctx context.Context, run *run) error {
	if !run.State.Rollout.Is(wave.Pending) {
		return nil
	}
	verdict, err := k.pacer.Look(ctx, run.Network)
	if err != nil {
		return err
	}
	if verdict.Admits() {
		verdict = wave.Verdict{
			Reason: wave.WaitingForRequest, Message: "The Network may be updated now, which begins when gardenlet requests a reconciliation of it",
		}
	}
	k.wait(run, verdict)
	return nil
}

// wait records why the Network waits.
func (k pacekeeper) wait(run *run, verdict wave.Verdict) {
	since := metav1.NewTime(k.clock.Now()).Rfc3339Copy()
	if before := run.State.Rollout; before.IsOf(k.pacer.Revision, wave.Pending) {
		since = before.Since
	}
	run.State.Rollout = &wave.Record{
		Revision: k.pacer.Revision, Phase: wave.Pending, Reason: verdict.Reason, Message: verdict.Message, Since: since,
	}
}

// settle records that the network has, or gets with a change of its user, what this revision makes of
// it. Where nothing else is written, only the memory of this process has it, unless the Network
// is known to wait. An update that is awaited or has failed stays so.
func (k pacekeeper) settle(run *run) {
	if run.writes() && !run.continues {
		run.State.Inputs = inputsOf(run)
	}
	before := run.State.Rollout
	if before.Is(wave.Progressing) || before != nil && before.Revision == k.pacer.Revision && before.Phase != wave.Pending {
		return
	}
	run.upToDate = true
	if run.writes() || before.Is(wave.Pending) {
		run.State.Rollout = &wave.Record{Revision: k.pacer.Revision, Phase: wave.Succeeded, Since: metav1.NewTime(k.clock.Now()).Rfc3339Copy()}
	}
}

// conclude tells the pacer what the state has by now, and users if that is another reason than before.
func (k pacekeeper) conclude(ctx context.Context, run *run) {
	if k.pacer == nil || run.stateErr != nil {
		return
	}
	stored, err := state.Decode(run.Network.Status.State)
	if err != nil {
		return
	}
	k.announce(ctx, run, stored.Rollout)
	switch now := stored.Rollout; {
	case run.upToDate && !now.Is(wave.Progressing) && !now.IsOf(k.pacer.Revision, wave.Failed):
		k.pacer.Keep(ctx, run.Network, &wave.Record{Revision: k.pacer.Revision, Phase: wave.Succeeded})
	case run.upToDate, run.admitted, !reflect.DeepEqual(now, run.rollout):
		k.pacer.Keep(ctx, run.Network, now)
	default: // what is known of it stays, but its annotations may have changed
		k.pacer.Tell(ctx)
	}
}

// announce records an event when a Network begins to wait, waits for something else, or fails.
func (k pacekeeper) announce(ctx context.Context, run *run, now *wave.Record) {
	before := run.rollout
	if now == nil || before != nil && before.Phase == now.Phase && before.Reason == now.Reason {
		return
	}
	switch now.Phase {
	case wave.Pending:
		outcome.Announce(k.recorder, run.Network, corev1.EventTypeNormal, string(now.Reason), now.Message)
	case wave.Failed:
		outcome.Announce(k.recorder, run.Network, corev1.EventTypeWarning, "RolloutFailed", now.Message)
		logf.FromContext(ctx).Info("The update of a Network failed", "revision", now.Revision, "reason", now.Reason, "message", now.Message)
	}
}

// isOutdated reports whether a network that runs has other objects than what was built, each of them as it
// was written. What is missing is written whatever it is, and so is what was never applied.
func (r *run) isOutdated() bool {
	if r.former.written == nil || r.State.Applied == nil || r.operation != corev1beta1.LastOperationTypeReconcile {
		return false
	}
	if slices.Equal(r.former.bundles, r.State.Bundles) {
		return false
	}
	for _, each := range r.former.bundles {
		mr := r.Managed[each.Name]
		if mr == nil || isBeingDeleted(mr) || r.withoutSecret[each.Name] || !bundle.RefersTo(mr, each.Secret) {
			return false
		}
	}
	return true
}

// hold puts the state back that this run has replaced, and has it write nothing for the shoot.
func (r *run) hold() {
	r.release()
	written := *r.former.written
	written.Generation = r.builtGeneration() // what it changed made no difference
	r.State.Written, r.State.Bundles, r.State.Components = &written, r.former.bundles, r.former.components
	r.obsolete, r.awaitsDeletion, r.changed, r.held = nil, false, false, true
	r.unchanged = !r.asksForOperation && r.Network.Status.ObservedGeneration == r.request.generation
}

// updateApplied records when the shoot had an update.
func (r *run) updateApplied(now time.Time) {
	if r.State.Rollout.Is(wave.Progressing) && r.State.Rollout.Applied.IsZero() {
		r.State.Rollout.Applied = metav1.NewTime(now).Rfc3339Copy()
	}
}

// inputsOf returns what is stated beside the spec.
func inputsOf(run *run) *state.Inputs {
	inputs := &state.Inputs{
		ShootGeneration: run.Shoot.Generation, Reported: reportedBy(&run.Shoot.Status),
		APIServer: run.Cluster.Annotations[extensionsv1alpha1.APIServerAnnotation],
	}
	for _, annotations := range []map[string]string{run.Shoot.Annotations, run.Network.Annotations} {
		if number := annotations[extensionsv1alpha1.MaxUnavailableAnnotation]; number != "" {
			inputs.MaxUnavailable = number
		}
		inputs.WithoutProbe = inputs.WithoutProbe || annotations[extensionsv1alpha1.ProbeAnnotation] == "false"
	}
	return inputs
}

// reportedBy returns a hash of what networks depend on in the status of a Shoot.
func reportedBy(status *corev1beta1.ShootStatus) string {
	raw, _ := json.Marshal([]any{status.Networking, status.AdvertisedAddresses}) // both come from JSON
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:4])
}

// isUsersChange reports whether what was built differs from what is written because a user, or the
// cluster, has changed something, and not only because of the operator. Where something has changed, it builds what
// was accepted as it was: if that gives the same, the change makes no difference.
func (k pacekeeper) isUsersChange(ctx context.Context, run *run) (bool, error) {
	last, former, now := run.former.written, run.State.Inputs, inputsOf(run)
	sameSpec := last.Generation == run.request.generation && slices.Equal(last.IPFamilies, run.built.IPFamilies)
	switch {
	case former != nil && (former.MaxUnavailable != now.MaxUnavailable || former.WithoutProbe != now.WithoutProbe || former.APIServer != now.APIServer):
		return true, nil
	case former != nil && sameSpec && former.ShootGeneration == now.ShootGeneration && former.Reported == now.Reported:
		return false, nil
	case last.Config == nil || last.Config.Accepted == nil:
		return !sameSpec, nil
	}
	request, err := k.requests.make(ctx, run)
	if err != nil {
		return false, err
	}
	again := request.Repeat(last.Config)
	if again.Facts.Infrastructure.Type == request.Facts.Infrastructure.Type {
		again.Facts.Infrastructure = request.Facts.Infrastructure // what Trellis has learned of it since
	}
	built := k.requests.Pipeline.Build(again)
	if len(built.Errors) > 0 {
		return !sameSpec, nil
	}
	same, err := run.builtSame(&built)
	return !same, err
}

// builtSame reports whether the run has built the same for the shoot, and the same config.
func (r *run) builtSame(other *pipeline.Result) (bool, error) {
	if !slices.Equal(r.built.IPFamilies, other.IPFamilies) {
		return false, nil
	}
	if same, err := jsonequal.Values(r.built.Applied().Config, other.Applied().Config); err != nil || !same {
		return false, err
	}
	wanted, err := bundlesOf(r, other.Objects.Bundles)
	if err != nil {
		return false, err
	}
	defer putContents(wanted)
	return slices.EqualFunc(r.wanted, wanted, func(a, b wantedBundle) bool {
		return a.Bundle == b.Bundle && bytes.Equal(a.content.Data, b.content.Data)
	}), nil
}
