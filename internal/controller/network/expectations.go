// SPDX-License-Identifier: Apache-2.0

package network

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/trellis-network/trellis/internal/budget"
	"github.com/trellis-network/trellis/internal/expectations"
	"github.com/trellis-network/trellis/internal/keyed"
	"github.com/trellis-network/trellis/internal/metrics"
	"github.com/trellis-network/trellis/internal/slots"
	"github.com/trellis-network/trellis/internal/state"
)

// localState is what this process alone knows of Networks beyond their status. Losing it costs
// requests and nothing else.
type localState struct {
	// networks and bundles are what this process has written and the cache may not show.
	networks, bundles expectations.Expectations[types.NamespacedName]
	// finished are the Networks that this process has reconciled without an error. Others
	// that have not succeeded were left unfinished by another process.
	finished keyed.Map[types.NamespacedName, types.UID]
	// first are the names of the Networks that count, by namespace.
	first keyed.Map[string, string]
	// announced are the disruptive changes that users were told of and that are not applied yet.
	announced keyed.Map[types.NamespacedName, string]
	// agreed are the bundles that ManagedResources had when this process found them written, or
	// wrote them: another content of them is another writer's.
	agreed keyed.Map[types.NamespacedName, []state.Bundle]
	// starts are since when this process has tried to carry out the specs of Networks.
	starts keyed.Map[types.NamespacedName, start]
	// told limits how often an error changes into another one.
	told budget.Budget
	// slots keep slow clusters from taking all workers.
	slots *slots.Slots
}

// limits are those of a controller with this many workers. A cluster that is new has no limit,
// since only a network that runs asks its cluster.
func limits(workers int) slots.Limits {
	return slots.Limits{Slow: max(1, workers/2), Unknown: max(1, workers), After: slowAfter}
}

// start is when this process began to carry out what a Network asks for.
type start struct {
	request requested
	at      time.Time
}

// forget forgets a Network that does not exist.
func (m *localState) forget(name types.NamespacedName) {
	m.networks.Forget(name)
	m.bundles.Forget(name)
	m.finished.Delete(name)
	m.starts.Delete(name)
	m.announced.Delete(name)
	m.agreed.Delete(name)
	m.first.Delete(name.Namespace)
	m.told.Forget(name)
	m.slots.Forget(name.Namespace)
	metrics.ForgetNetwork(name)
}
