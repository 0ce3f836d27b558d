// SPDX-License-Identifier: Apache-2.0

package health

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
)

const (
	// rolloutPatience is how long a roll-out may make no progress before the nodes
	// that hold it up are named.
	rolloutPatience = 10 * time.Minute
	// nodesNamed is how many of them are; of the others the number is told.
	nodesNamed = 5

	stalled = "the roll-out has made no progress for more than 10 minutes"
)

// rollout is a DaemonSet of whose pods not all are of the latest revision and
// available. It is judged by what the API server keeps, so that it does not matter
// since when this process looks.
type rollout struct {
	// revision is the hash of the latest revision of its pods.
	revision string
	// began is when the latest revision became that.
	began time.Time
	// wanted is on how many nodes there is to be a pod.
	wanted int
	// minReady is how long a pod must be ready to be available.
	minReady time.Duration
	agents   []agent
	// refused is since when pods cannot be made; zero if nobody complains.
	refused time.Time
	// nodes returns when each node of the cluster was made. It is asked only if
	// that matters.
	nodes func() (map[string]time.Time, error)
}

// add takes note of pods. There may be no roll-out to do that for.
func (r *rollout) add(pods []corev1.Pod, now time.Time) {
	if r == nil {
		return
	}
	for i := range pods {
		r.agents = append(r.agents, agentOf(&pods[i], r.revision, r.minReady, now))
	}
}

// heldUp says what holds up the roll-out, if it has been for too long, and since when
// there was no progress. known is since when that was at an earlier look: what showed
// progress then may be gone with its node by now.
func (r *rollout) heldUp(known, now time.Time) (held string, since time.Time, err error) {
	since, lacks, err := r.since()
	if err != nil {
		return "", known, err
	}
	since = later(since, known)
	if lacks && now.Sub(since) >= rolloutPatience {
		held = r.blame(now)
	}
	return held, earlier(since, now), nil
}

// since is when a roll-out last made progress, or began to lack something. It is false
// if the roll-out lacks nothing.
//
// Progress is a pod that was replaced and became available. That a node joins and gets
// its pod is none, or a cluster that grows would never be told what holds it up: what
// counts on nodes younger than the revision are only the pods that were made while
// what is lacking began to lack, for those came together with it.
func (r *rollout) since() (time.Time, bool, error) {
	since, lacks := r.lacksSince()
	if !lacks {
		return time.Time{}, false, nil
	}
	together := since.Add(rolloutPatience)
	for i := range r.agents {
		a := &r.agents[i]
		if !a.current || !a.available || a.relapsed || !a.changed.After(since) {
			continue
		}
		counts, err := !a.made.After(together), error(nil)
		if !counts {
			counts, err = r.wasThere(a.node)
		}
		if err != nil {
			return time.Time{}, false, err
		}
		if counts {
			since = a.changed
		}
	}
	return since, true, nil
}

// lacksSince is since when the roll-out has something to do: pods to replace, pods that
// were made and are not available yet, or that cannot be made. What was available and
// fell ill afterwards is no longer the roll-out's.
func (r *rollout) lacksSince() (since time.Time, lacks bool) {
	note := func(at time.Time) {
		if !lacks || at.Before(since) {
			since, lacks = at, true
		}
	}
	for i := range r.agents {
		switch a := &r.agents[i]; {
		case !a.current:
			note(r.began)
		case !a.available && !a.relapsed:
			note(a.made)
		}
	}
	if r.missing() > 0 && !r.refused.IsZero() {
		note(r.refused)
	}
	return later(since, r.began), lacks
}

// wasThere says whether a node had a pod to replace when the roll-out began.
func (r *rollout) wasThere(node string) (bool, error) {
	nodes, err := r.nodes()
	if err != nil {
		return false, err
	}
	made, known := nodes[node]
	return known && made.Before(r.began), nil
}

// missing is how many nodes have no pod at all.
func (r *rollout) missing() int { return max(0, r.wanted-len(r.inhabited())) }

func (r *rollout) inhabited() map[string]bool {
	nodes := map[string]bool{}
	for i := range r.agents {
		nodes[r.agents[i].node] = true
	}
	return nodes
}

// blame says that the roll-out is stalled, and because of which nodes: those whose pods
// have not been available for as long as that, or if there are none, for shorter.
func (r *rollout) blame(now time.Time) string {
	for _, patience := range []time.Duration{rolloutPatience, 0} {
		var nodes []string
		for i := range r.agents {
			if a := &r.agents[i]; a.absent() && now.Sub(a.absentSince()) >= patience {
				nodes = append(nodes, a.node)
			}
		}
		nodes = append(nodes, r.deserted(now.Add(-patience))...)
		slices.Sort(nodes)
		if nodes = slices.Compact(nodes); len(nodes) > 0 {
			return stalled + " because of " + named(nodes)
		}
	}
	if r.missing() > 0 {
		return stalled // why pods cannot be made is said besides
	}
	return stalled + ", although all pods are ready: nobody replaces them"
}

// deserted are the nodes made by then that have no pod, if it is certain which: not
// every node of a cluster need be one that a DaemonSet is for.
func (r *rollout) deserted(then time.Time) []string {
	missing := r.missing()
	if missing == 0 {
		return nil
	}
	nodes, err := r.nodes()
	if err != nil {
		return nil
	}
	inhabited := r.inhabited()
	without := slices.DeleteFunc(slices.Collect(maps.Keys(nodes)), func(node string) bool { return inhabited[node] })
	if len(without) != missing {
		return nil
	}
	return slices.DeleteFunc(without, func(node string) bool { return nodes[node].After(then) })
}

func named(nodes []string) string {
	switch more := len(nodes) - nodesNamed; {
	case len(nodes) == 1:
		return "node " + nodes[0]
	case more > 0:
		return fmt.Sprintf("nodes %s and %d more", strings.Join(nodes[:nodesNamed], ", "), more)
	default:
		return "nodes " + strings.Join(nodes, ", ")
	}
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
