// SPDX-License-Identifier: Apache-2.0

package network

import (
	"fmt"
	"slices"
	"sync"

	"github.com/trellis-network/trellis/internal/bundle"
	"github.com/trellis-network/trellis/internal/metrics"
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
			Namespace: run.network.Namespace, Name: each.Name, Network: run.network.Name,
			Origin: run.plugin.Origin, Target: each.Target, Data: data,
		}
		wanted[i] = wantedBundle{state.BundleOf(each, content.SecretName()), content, len(each.Objects)}
	}
	slices.SortStableFunc(wanted, func(a, b wantedBundle) int { return a.Phase - b.Phase })
	return wanted, nil
}

// measured returns the sizes of the bundles.
func (r *run) measured() []metrics.Bundle {
	sizes := make([]metrics.Bundle, len(r.wanted))
	for i, each := range r.wanted {
		sizes[i] = metrics.Bundle{Name: each.Name, Objects: each.objects, Bytes: len(each.content.Data)}
	}
	return sizes
}

// release gives back what the contents of the bundles are in.
func (r *run) release() {
	for i := range r.wanted {
		contents.Put(&r.wanted[i].content.Data)
	}
	r.wanted = nil
}

// isWritten reports whether nothing can be written now: each bundle is written, or its
// ManagedResource is being deleted and the event of its end leads to the next run. That of
// an awaited bundle must be there.
func (r *run) isWritten() bool {
	for i := range r.wanted {
		each := &r.wanted[i]
		mr := r.managed[each.Name]
		if !each.content.Written(mr) && (each.Await || !isBeingDeleted(mr)) {
			return false
		}
	}
	return len(r.obsolete()) == 0
}

// obsolete returns the names of the ManagedResources that the spec does not ask for, in
// descending phases, but for those that are being deleted.
func (r *run) obsolete() []string {
	var names []string
	for _, name := range r.known().BundleNames() {
		wanted := slices.ContainsFunc(r.wanted, func(b wantedBundle) bool { return b.Name == name })
		if mr := r.managed[name]; !wanted && mr != nil && !isBeingDeleted(mr) {
			names = append(names, name)
		}
	}
	return names
}

// isDeletingAwaited reports whether the ManagedResource of an awaited bundle is being
// deleted. The bundle can be written once that is gone.
func (r *run) isDeletingAwaited() bool {
	return slices.ContainsFunc(r.wanted, func(b wantedBundle) bool { return b.Await && isBeingDeleted(r.managed[b.Name]) })
}
