// SPDX-License-Identifier: Apache-2.0

package network

import (
	"time"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	resourcesv1alpha1 "github.com/trellis-network/trellis/api/resources/v1alpha1"
	"github.com/trellis-network/trellis/internal/request"
	"github.com/trellis-network/trellis/internal/state"
	"github.com/trellis-network/trellis/internal/transition"
	"github.com/trellis-network/trellis/internal/wave"
	"github.com/trellis-network/trellis/pipeline"
)

// seen is what the seed has of a Network. Its Request is made of it.
type seen = request.Network

// run is one reconciliation of one Network. Each stage adds what it found.
type run struct {
	// seen has the Network, its plugin and its state from the beginning; gather adds the rest.
	// The State is written with the status; nil leaves the one that is there, which cannot be
	// decoded then.
	seen
	stateErr error
	// stored is the encoding of the state as it is in the status.
	stored []byte
	// others are the other Networks in the namespace.
	others []*extensionsv1alpha1.Network
	// withoutSecret are those of the ManagedResources that have lost their Secret.
	withoutSecret map[string]bool

	// operation stays what it was at the beginning, whatever is asked for meanwhile.
	operation corev1beta1.LastOperationType
	// request is what the Network asked for at the beginning, and asksForOperation reports
	// that this is an operation that has not begun.
	request          requested
	asksForOperation bool
	// succeeded reports that the last operation had succeeded at the beginning.
	succeeded bool
	// hasMigrated reports that another seed looks after the shoot.
	hasMigrated bool
	// generation is the one that an error is about.
	generation int64

	// builds reports that the spec is carried out. Otherwise, what was written is awaited. continues
	// reports that nothing asks for that but a transition, so that it is the spec that was accepted.
	builds, continues bool
	// asked is the Request for what the spec asks for, or, while a network becomes one whose type can change, for
	// that one; and built the network that is to be there now:
	// the one that the spec asks for, or that of a step on the way.
	asked pipeline.Request
	built pipeline.Result
	// steps reports that the next step of a transition is taken, or all that are left, and stepsAgain after which time it must be
	// decided again whether to take one; 0 without a transition. at is where it stood at the beginning.
	// arrived reports that the network is what the spec asks for, and that pods talk.
	steps, arrived bool
	stepsAgain     time.Duration
	at             *transition.Record
	// exchange is where the cluster stands if the type of its network changes; nil otherwise.
	exchange *state.Exchange
	// changesType is how it changes, also while what was built is only a step before that.
	changesType *pipeline.Exchange
	wanted      []wantedBundle
	// obsolete are the names of the ManagedResources that the spec does not ask for, in
	// descending phases, but for those that are being deleted.
	obsolete []string
	// awaitsDeletion reports that the ManagedResource of an awaited bundle is being deleted.
	// The bundle can be written once that is gone.
	awaitsDeletion bool
	// waitsFor is what the Network waits for before anything can be done, as users are told.
	waitsFor string
	// refused is why the spec cannot be carried out until a user changes something.
	refused error
	// changed reports that what was built is something else than before, unchanged that all of
	// it is written already, and wrote that this run has written it.
	changed, unchanged, wrote bool
	// applied reports that the shoot has what was written.
	applied bool
	// former is what was written before this run built anything.
	former formerState
	// held reports that what was built waits, because the roll-out of a version is paced.
	held bool
	// admitted reports that what was built is an update that is written now.
	admitted bool
	// upToDate reports that the network has what the version makes of it.
	upToDate bool
	// rollout is where the Network stood in the roll-out at the beginning of the run.
	rollout *wave.Record
	// judgedAgain is after which time the success of an update must be judged again; 0 if
	// only an event can change it.
	judgedAgain time.Duration
	// tooLarge reports that the API server does not store the status, or the state in it.
	tooLarge bool
	// untold is after which time an error that was put off can be told; 0 if none was.
	untold time.Duration
	// finalized reports that the finalizer is gone, and perhaps the Network.
	finalized bool
}

// writes reports whether something that was built must be written, or a request answered.
func (r *run) writes() bool { return r.builds && !r.unchanged }

// confirms reports that the network was asked for again and is as it was. gardenlet asks all Networks of a
// seed each day, so that this is not worth an event.
func (r *run) confirms() bool {
	return r.succeeded && r.operation == corev1beta1.LastOperationTypeReconcile && r.builds && !r.changed
}

// builtGeneration returns the generation of the spec that is carried out.
func (r *run) builtGeneration() int64 {
	if r.continues {
		return r.State.Written.Generation
	}
	return r.request.generation
}

// newRun returns what the Network alone tells.
func newRun(n *extensionsv1alpha1.Network, p *pipeline.Pipeline) *run {
	next := &run{
		seen: seen{Network: n}, operation: operationType(n), request: requestOf(n),
		asksForOperation: asksForOperation(n), succeeded: n.HasSucceeded(), hasMigrated: hasMigrated(n), generation: n.Generation,
	}
	next.Plugin, _ = p.Plugin(n.Spec.Type)
	next.State, next.stateErr = state.Decode(n.Status.State)
	if next.State != nil {
		next.rollout, next.at = next.State.Rollout, next.State.Transition
		next.asksForOperation = next.asksForOperation || next.State.PendingRequest
		if encoded, err := next.State.Encode(); err == nil {
			next.stored = encoded.Raw
		}
	}
	return next
}

func isBeingDeleted(mr *resourcesv1alpha1.ManagedResource) bool {
	return mr != nil && !mr.DeletionTimestamp.IsZero()
}
