// SPDX-License-Identifier: Apache-2.0

package managedresource

import (
	"slices"
	"sync"
	"time"
)

const (
	// slowAfter is for how long a cluster may keep a pass before it is taken for slow.
	// One that answers makes a whole network in less.
	slowAfter = 5 * time.Second
	// crowdedRetry is when to try again what a slow cluster has put off.
	crowdedRetry = time.Second
)

// crowd says which passes go on in which control plane, so that a cluster that answers,
// but slowly, does not get one worker for each of its ManagedResources.
type crowd struct {
	mu     sync.Mutex
	guests map[string]*guest
}

// guest is a control plane's cluster.
type guest struct {
	// begun is when the passes that go on have begun.
	begun []time.Time
	// slow says that the last pass to end took long.
	slow bool
}

// join says whether a pass may begin in a namespace: not beside another one that takes,
// or after one that took, long. If so, leave is to be called with the time of its end.
func (c *crowd) join(namespace string, now time.Time) (leave func(time.Time), welcome bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	g := c.guests[namespace]
	if g == nil {
		if c.guests == nil {
			c.guests = map[string]*guest{}
		}
		g = &guest{}
		c.guests[namespace] = g
	}
	if len(g.begun) > 0 && (g.slow || now.Sub(g.begun[0]) >= slowAfter) {
		return nil, false
	}
	g.begun = append(g.begun, now)
	return func(end time.Time) { c.leave(namespace, now, end) }, true
}

func (c *crowd) leave(namespace string, begun, end time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	g := c.guests[namespace]
	i := slices.IndexFunc(g.begun, begun.Equal)
	g.begun = slices.Delete(g.begun, i, i+1)
	if g.slow = end.Sub(begun) >= slowAfter; !g.slow && len(g.begun) == 0 {
		delete(c.guests, namespace)
	}
}

// forget forgets a namespace that has no ManagedResources any more.
func (c *crowd) forget(namespace string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if g := c.guests[namespace]; g != nil && len(g.begun) == 0 {
		delete(c.guests, namespace)
	}
}
