// SPDX-License-Identifier: Apache-2.0

package managedresource

import (
	"slices"
	"time"

	"github.com/trellis-network/trellis/internal/keyed"
)

// limiter admits one run at a time for a cluster that is slow, so that one such cluster
// does not take a worker for each of its ManagedResources.
type limiter struct {
	// clusters by the namespace of their control plane.
	clusters keyed.Map[string, load]
}

// load is what the limiter knows of one cluster.
type load struct {
	// running are the times when the present runs began.
	running []time.Time
	// slow reports whether the last run to end was slow.
	slow bool
}

// enter reports whether a run may begin. The caller of an admitted run must call leave
// with the time of its end.
func (l *limiter) enter(namespace string, now time.Time) (leave func(time.Time), admitted bool) {
	l.clusters.Update(namespace, func(c load, _ bool) (load, bool) {
		admitted = len(c.running) == 0 || !c.slow && now.Sub(c.running[0]) < slowAfter
		if admitted {
			c.running = append(c.running, now)
		}
		return c, true
	})
	return func(end time.Time) {
		l.clusters.Update(namespace, func(c load, _ bool) (load, bool) {
			i := slices.IndexFunc(c.running, now.Equal)
			c.running, c.slow = slices.Delete(c.running, i, i+1), end.Sub(now) >= slowAfter
			return c, c.slow || len(c.running) > 0
		})
	}, admitted
}

// forget forgets a namespace without ManagedResources.
func (l *limiter) forget(namespace string) {
	l.clusters.Update(namespace, func(c load, _ bool) (load, bool) { return c, len(c.running) > 0 })
}
