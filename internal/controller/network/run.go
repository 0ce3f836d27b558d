// SPDX-License-Identifier: Apache-2.0

package network

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	resourcesv1alpha1 "github.com/trellis-network/trellis/api/resources/v1alpha1"
	"github.com/trellis-network/trellis/internal/bundle"
	"github.com/trellis-network/trellis/internal/request"
	"github.com/trellis-network/trellis/internal/state"
	"github.com/trellis-network/trellis/pipeline"
	"github.com/trellis-network/trellis/plugin"
)

// run is one reconciliation of one Network. Each stage adds what it found.
type run struct {
	network *extensionsv1alpha1.Network
	// operation stays what it was at the beginning, whatever is asked for meanwhile.
	operation corev1beta1.LastOperationType
	// request is what the Network asked for at the beginning, and asksForOperation reports
	// that this is an operation that has not begun.
	request          requested
	asksForOperation bool
	// generation is the one that an error is about.
	generation int64

	plugin  plugin.Plugin
	cluster *extensionsv1alpha1.Cluster
	shoot   *corev1beta1.Shoot
	// managed are the ManagedResources of the Network's bundles, by name, and withoutSecret
	// those of them that have lost their Secret.
	managed       map[string]*resourcesv1alpha1.ManagedResource
	withoutSecret map[string]bool
	// state is written with the status; nil leaves the one that is there, which cannot be
	// decoded then.
	state    *state.State
	stateErr error
	// stored is the encoding of the state as it is in the status.
	stored []byte

	// builds reports that the spec is carried out. Otherwise, what was written is awaited.
	builds bool
	built  pipeline.Result
	wanted []wantedBundle
	// refused is why the spec cannot be carried out until a user changes something.
	refused error
	// unchanged reports that all that was built is written already, and wrote that this run
	// has written it.
	unchanged, wrote bool
	// applied reports that the shoot has what was written.
	applied bool
	// finalized reports that the finalizer is gone, and perhaps the Network.
	finalized bool
}

// writes reports whether something that was built must be written.
func (r *run) writes() bool { return r.builds && !r.unchanged }

// newRun returns what the Network alone tells.
func newRun(n *extensionsv1alpha1.Network, p *pipeline.Pipeline) *run {
	next := &run{
		network: n, operation: operationType(n), request: requestOf(n), asksForOperation: asksForOperation(n), generation: n.Generation,
	}
	next.plugin, _ = p.Plugin(n.Spec.Type)
	next.state, next.stateErr = state.Decode(n.Status.State)
	if next.state != nil {
		next.asksForOperation = next.asksForOperation || next.state.PendingRequest
		if encoded, err := next.state.Encode(); err == nil {
			next.stored = encoded.Raw
		}
	}
	return next
}

// read reads the ManagedResources of the Network's bundles, and which of them have lost
// their Secret. Those that are being deleted need none.
func (r *run) read(ctx context.Context, from client.Reader) error {
	var names []string
	for i := range r.wanted {
		names = append(names, r.wanted[i].Name)
	}
	known := r.known()
	if err := known.ReadManaged(ctx, from, names...); err != nil {
		return err
	}
	r.managed, r.withoutSecret = known.Managed, map[string]bool{}
	for name, mr := range r.managed {
		if isBeingDeleted(mr) {
			continue
		}
		complete, err := bundle.HasSecrets(ctx, from, mr)
		if err != nil {
			return err
		}
		r.withoutSecret[name] = !complete
	}
	return nil
}

// versionOf returns the version of a ManagedResource as it was read, empty if it or its
// Secret is not there.
func (r *run) versionOf(name string) string {
	if mr := r.managed[name]; mr != nil && !r.withoutSecret[name] {
		return mr.ResourceVersion
	}
	return ""
}

// known returns what the Network's Request is made of.
func (r *run) known() *request.Network {
	return &request.Network{
		Network: r.network, Cluster: r.cluster, Shoot: r.shoot, State: r.state, Managed: r.managed, Plugin: r.plugin,
	}
}

// needsRewrite reports whether a ManagedResource of those that the spec as it is now was
// carried out with is missing, or lacks its Secret, or has former content: a user has deleted
// it, or a run ended before it was written. Or there is one too many, which the cache did not
// show when the others were written.
func (r *run) needsRewrite() bool {
	if r.state == nil || r.state.Written == nil || r.state.Written.Generation != r.network.Generation {
		return false
	}
	for _, written := range r.state.Bundles {
		mr := r.managed[written.Name]
		if mr == nil || r.withoutSecret[written.Name] || !bundle.RefersTo(mr, written.Secret) {
			return true
		}
	}
	for name, mr := range r.managed {
		if _, wanted := r.state.Bundle(name); !wanted && mr.DeletionTimestamp.IsZero() {
			return true
		}
	}
	return false
}

func isBeingDeleted(mr *resourcesv1alpha1.ManagedResource) bool {
	return mr != nil && !mr.DeletionTimestamp.IsZero()
}
