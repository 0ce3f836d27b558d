// SPDX-License-Identifier: Apache-2.0

package network

import (
	"fmt"
	"slices"
	"sync"

	"github.com/trellis-network/trellis/internal/bundle"
	"github.com/trellis-network/trellis/internal/state"
	"github.com/trellis-network/trellis/pipeline"
	"github.com/trellis-network/trellis/plugin"
)

// wantedBundle is a bundle that the spec asks for.
type wantedBundle struct {
	state.Bundle
	content *bundle.Bundle
	// objects is the number of objects in it.
	objects int
}

// contents are slices for the contents of bundles. A run that finds nothing to do only
// compares what it has built.
var contents = sync.Pool{New: func() any { return new([]byte) }}

// bundlesOf returns what bundles are written as, in ascending phases.
func bundlesOf(run *run, bundles []plugin.Bundle) ([]wantedBundle, error) {
	wanted := make([]wantedBundle, len(bundles))
	for i := range bundles {
		each := &bundles[i]
		data, err := pipeline.AppendDocuments((*contents.Get().(*[]byte))[:0], each.Objects)
		if err != nil {
			return nil, fmt.Errorf("encode the objects of the bundle %s: %w", each.Name, err)
		}
		content := &bundle.Bundle{
			Namespace: run.Network.Namespace, Name: each.Name, Network: run.Network.Name,
			Origin: run.Plugin.Origin, Target: each.Target, Data: data,
		}
		wanted[i] = wantedBundle{state.BundleOf(each, content.SecretName()), content, len(each.Objects)}
	}
	slices.SortStableFunc(wanted, func(a, b wantedBundle) int { return a.Phase - b.Phase })
	return wanted, nil
}

// putContents gives back what the contents of bundles are in.
func putContents(bundles []wantedBundle) {
	for i := range bundles {
		contents.Put(&bundles[i].content.Data)
	}
}
