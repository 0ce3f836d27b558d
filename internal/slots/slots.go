// SPDX-License-Identifier: Apache-2.0

// Package slots keeps slow clusters from taking all workers of a controller.
package slots

import (
	"slices"
	"sync"
	"time"
)

const (
	// After is how long a run takes whose cluster counts as slow. A cluster that answers in
	// time has a whole network applied in less.
	After = 5 * time.Second
	// Retry is when a run that was not admitted is tried again.
	Retry = time.Second
	// remembered is for how many times the time of a slow run its cluster counts as slow. A
	// quick run does not end that, since a hostile cluster can have one between any two.
	remembered = 10
)

// Slots admits one run at a time for a cluster that is slow, so that one such cluster does not
// take a worker for each of its objects, and to all slow clusters together half of the workers.
// Its methods may be called concurrently.
type Slots struct {
	// most is how many slow clusters may have runs.
	most int

	mu sync.Mutex
	// clusters by the namespace of their control plane.
	clusters map[string]load
}

// load is what is known of one cluster.
type load struct {
	// running are the times when the present runs began.
	running []time.Time
	// slow is the time until which the cluster counts as slow.
	slow time.Time
}

// New returns the slots of a controller with this many workers.
func New(workers int) *Slots { return &Slots{most: max(1, workers/2), clusters: map[string]load{}} }

// Enter reports whether a run may begin. The caller of an admitted run must call leave with
// the time of its end.
func (s *Slots) Enter(namespace string, now time.Time) (leave func(time.Time), admitted bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.clusters[namespace]
	isSlow := now.Before(c.slow)
	switch {
	case len(c.running) > 0 && (isSlow || now.Sub(c.running[0]) >= After), isSlow && s.slow(now) >= s.most:
		return nil, false
	}
	c.running = append(c.running, now)
	s.clusters[namespace] = c
	return func(end time.Time) { s.leave(namespace, now, end) }, true
}

// slow returns how many slow clusters have runs.
func (s *Slots) slow(now time.Time) (count int) {
	for _, c := range s.clusters {
		if len(c.running) > 0 && (now.Before(c.slow) || now.Sub(c.running[0]) >= After) {
			count++
		}
	}
	return count
}

func (s *Slots) leave(namespace string, began, end time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.clusters[namespace]
	i := slices.IndexFunc(c.running, began.Equal)
	c.running = slices.Delete(c.running, i, i+1)
	if took := end.Sub(began); took >= After {
		c.slow = end.Add(remembered * took)
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
	}
}

// Len returns of how many clusters something is remembered.
func (s *Slots) Len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.clusters)
}
