// SPDX-License-Identifier: Apache-2.0

package network

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trellis-network/trellis/internal/expectations"
	"github.com/trellis-network/trellis/internal/keyed"
	"github.com/trellis-network/trellis/internal/metrics"
	"github.com/trellis-network/trellis/internal/outcome"
)

// memory is what this process knows of Networks beyond their status. Losing it costs
// requests and nothing else.
type memory struct {
	// networks and bundles are what this process has written and the cache may not show.
	networks, bundles expectations.Expectations[types.NamespacedName]
	// finished are the Networks that this process has reconciled without an error. Others
	// that have not succeeded were left unfinished by another process.
	finished keyed.Map[types.NamespacedName, types.UID]
	// starts are since when this process has tried to carry out the specs of Networks.
	starts keyed.Map[types.NamespacedName, start]
}

// start is when this process began to carry out what a Network asks for.
type start struct {
	request requested
	at      time.Time
}

// begin remembers since when a spec is being carried out. Further attempts, and the removal
// of the annotation that asked for it, are no new beginning.
func (m *memory) begin(run *run, now time.Time) {
	m.starts.Update(client.ObjectKeyFromObject(run.network), func(s start, known bool) (start, bool) {
		if known && (s.request == run.request || s.request.generation == run.request.generation && run.request.operation == "") {
			return s, true
		}
		return start{run.request, now}, true
	})
}

// remember keeps what the next run of this process must know.
func (m *memory) remember(run *run, ended outcome.Outcome) {
	name := client.ObjectKeyFromObject(run.network)
	switch {
	case run.managed == nil: // nothing was looked at
	case ended.Kind() == outcome.Stale && ended.Err() == nil: // the cache was late, so nothing was done
	case ended.Err() != nil && ended.Kind() != outcome.Terminal && run.builds:
		m.finished.Delete(name)
	default:
		m.finished.Set(name, run.network.UID)
	}
	if ended.Kind() == outcome.Done {
		m.starts.Delete(name)
	}
}

// forget forgets a Network that does not exist.
func (m *memory) forget(name types.NamespacedName) {
	m.networks.Forget(name)
	m.bundles.Forget(name)
	m.finished.Delete(name)
	m.starts.Delete(name)
	metrics.ForgetNetwork(name)
}
