// SPDX-License-Identifier: Apache-2.0

package network

import (
	"context"
	"fmt"

	"github.com/trellis-network/trellis/internal/bundle"
	"github.com/trellis-network/trellis/internal/state"
	"github.com/trellis-network/trellis/pipeline"
)

// inherit completes a Request with what can only be learnt from the objects of a
// network that somebody else has made. It fails closed: what cannot be read must not
// be replaced by what a new network has. Once Trellis has applied the network, the
// pipeline finds it in what was applied.
func (w *work) inherit(ctx context.Context, request *pipeline.Request, kept *state.State) error {
	definition, known := w.Pipeline.Plugin(w.network.Spec.Type)
	if !known || !definition.Inherits() || kept.Applied != nil || w.managed.main == nil {
		return nil
	}
	if written := kept.Written; written != nil && written.Config.Accepted != nil {
		request.Facts.IPAM = written.Config.Accepted.Facts.IPAM
		return nil
	}
	present, err := bundle.Read(ctx, w.live, w.managed.main)
	if err != nil {
		return fmt.Errorf("find out how the network that is there gives pods their addresses: %w", err)
	}
	request.Facts.IPAM = definition.IPAM(present)
	return nil
}
