// SPDX-License-Identifier: Apache-2.0

// Package slots keeps slow clusters from taking all workers of a controller.
package slots

import (
	"slices"
	"sync"
	"time"
)

const (
	// After is how long a run takes that applies objects to a cluster, or reports about one, and
	// whose cluster counts as slow. A cluster that answers in time has a whole network applied
	// in less.
	After = 5 * time.Second
	// Retry is when a run that was not admitted is tried again.
	Retry = time.Second
	// remembered is for how many times the time of a slow run its cluster counts as slow. A
	// quick run does not end that, since a hostile cluster can have one between any two.
	remembered = 10
)

// Limits say how many workers clusters have.
type Limits struct {
	// Slow is how many slow clusters may have runs at the same time.
	Slow int
	// Unknown is how many runs the clusters may have together that are slow or have not had a
	// quick run since they were, or at all.
	Unknown int
	// After is how long a run takes whose cluster counts as slow.
	After time.Duration
}

// For returns the limits of a controller with this many workers whose first run for a cluster
// asks it: half of the workers for slow clusters, and a quarter for none but those whose last run
// was quick, so that many clusters that are new, or were slow, do not have all workers: that they
// are slow shows only after a while.
func For(workers int) Limits {
	return Limits{Slow: max(1, workers/2), Unknown: max(1, workers-max(1, workers/4)), After: After}
}

// Slots admits one run at a time for a cluster that is slow, so that one such cluster does not
// take a worker for each of its objects, and to all slow clusters, and all unknown ones, together
// what the limits say. Its methods may be called concurrently.
type Slots struct {
	limits Limits

	mu sync.Mutex
	// clusters by the namespace of their control plane.
	clusters map[string]load
	// quick has the clusters that have had a quick run, and no slow one since.
	quick map[string]struct{}
}

// load is what is known of one cluster.
type load struct {
	// running are the times when the present runs began.
	running []time.Time
	// slow is the time until which the cluster counts as slow.
	slow time.Time
}

// New returns slots with these limits.
func New(limits Limits) *Slots {
	return &Slots{limits: limits, clusters: map[string]load{}, quick: map[string]struct{}{}}
}

// Enter reports whether a run may begin. The caller of an admitted run must call leave with
// the time of its end.
func (s *Slots) Enter(namespace string, now time.Time) (leave func(time.Time), admitted bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.clusters[namespace]
	isSlow := now.Before(c.slow)
	_, isQuick := s.quick[namespace]
	slow, unknown := s.count(now)
	switch {
	case len(c.running) > 0 && (isSlow || now.Sub(c.running[0]) >= s.limits.After),
		isSlow && slow >= s.limits.Slow,
		(isSlow || !isQuick) && unknown >= s.limits.Unknown:
		return nil, false
	}
	c.running = append(c.running, now)
	s.clusters[namespace] = c
	return func(end time.Time) { s.leave(namespace, now, end) }, true
}

// count returns how many slow clusters have runs, and how many runs those have that are slow or
// have not had a quick one since.
func (s *Slots) count(now time.Time) (slow, unknown int) {
	for namespace, c := range s.clusters {
		if len(c.running) == 0 {
			continue
		}
		isSlow := now.Before(c.slow) || now.Sub(c.running[0]) >= s.limits.After
		if isSlow {
			slow++
		}
		if _, isQuick := s.quick[namespace]; isSlow || !isQuick {
			unknown += len(c.running)
		}
	}
	return slow, unknown
}

func (s *Slots) leave(namespace string, began, end time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.clusters[namespace]
	i := slices.IndexFunc(c.running, began.Equal)
	c.running = slices.Delete(c.running, i, i+1)
	if took := end.Sub(began); took >= s.limits.After {
		c.slow = end.Add(remembered * took)
		delete(s.quick, namespace)
	} else if !end.Before(c.slow) {
		s.quick[namespace] = struct{}{}
	}
	if len(c.running) == 0 && !end.Before(c.slow) {
		delete(s.clusters, namespace)
		return
	}
	s.clusters[namespace] = c
}

// Forget forgets a cluster that has no runs, and will have none.
func (s *Slots) Forget(namespace string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.clusters[namespace].running) == 0 {
		delete(s.clusters, namespace)
		delete(s.quick, namespace)
	}
}

// Len returns how many clusters have runs or count as slow.
func (s *Slots) Len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.clusters)
}
