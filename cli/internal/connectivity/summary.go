// SPDX-License-Identifier: Apache-2.0

package connectivity

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	connectivityv1alpha1 "github.com/trellis-network/trellis/api/connectivity/v1alpha1"
)

// group is what came of one test in one family.
type group struct {
	Family           connectivityv1alpha1.IPFamily
	Test             connectivityv1alpha1.CheckType
	Targets, Failing int
	// Latencies in microseconds, of targets that were reached; sorted.
	latencies []int32
}

// groups returns the tests that take place, in the order in which they are shown.
func (r *Report) groups() (found []*group) {
	for i := range r.Edges {
		e := &r.Edges[i]
		if len(found) == 0 || found[len(found)-1].Family != e.Family || found[len(found)-1].Test != e.Test {
			found = append(found, &group{Family: e.Family, Test: e.Test})
		}
		last := found[len(found)-1]
		last.Targets++
		if e.Failing {
			last.Failing++
		} else if e.LatencyMicroseconds > 0 {
			last.latencies = append(last.latencies, e.LatencyMicroseconds)
		}
	}
	for _, each := range found {
		slices.Sort(each.latencies)
	}
	return found
}

// Latency returns the latency in milliseconds that a share of the targets do not exceed, as text.
func (g *group) Latency(percent int) string {
	if len(g.latencies) == 0 {
		return "–"
	}
	return milliseconds(g.latencies[(len(g.latencies)*percent+99)/100-1])
}

// bucket counts the targets whose latency is less than a limit, and no less than that of the bucket
// before.
type bucket struct {
	Label string
	Count int
}

// bucketLimits are in microseconds.
var bucketLimits = []int32{100, 200, 500, 1000, 2000, 5000, 10_000, 20_000, 50_000, 100_000, 1_000_000}

// Histogram returns how many targets have which latency, without empty buckets at both ends.
func (g *group) Histogram() []bucket {
	buckets := make([]bucket, len(bucketLimits)+1)
	for i := range buckets {
		if i < len(bucketLimits) {
			buckets[i].Label = "< " + milliseconds(bucketLimits[i])
		} else {
			buckets[i].Label = "≥ " + milliseconds(bucketLimits[i-1])
		}
	}
	for _, latency := range g.latencies {
		i, exact := slices.BinarySearch(bucketLimits, latency)
		if exact {
			i++
		}
		buckets[i].Count++
	}
	isFilled := func(b bucket) bool { return b.Count > 0 }
	first := slices.IndexFunc(buckets, isFilled)
	if first < 0 {
		return nil
	}
	last := len(buckets)
	for !isFilled(buckets[last-1]) {
		last--
	}
	return buckets[first:last]
}

// score is how a node fares in the tests between nodes, as their start and as their target.
type score struct {
	Node
	From, FromFailing, To, ToFailing int
}

// scores returns all nodes, those first of whose tests most fail, and then stale ones.
func (r *Report) scores() []*score {
	of := map[string]*score{}
	for i := range r.Nodes {
		of[r.Nodes[i].Name] = &score{Node: r.Nodes[i]}
	}
	for i := range r.Edges {
		e := &r.Edges[i]
		failing := 0
		if e.Failing {
			failing = 1
		}
		of[e.From].From++
		of[e.From].FromFailing += failing
		if to := of[e.To]; to != nil && e.isBetweenNodes() {
			to.To++
			to.ToFailing += failing
		}
	}
	all := slices.Collect(maps.Values(of))
	slices.SortFunc(all, func(a, b *score) int {
		return cmp.Or(b.FromFailing+b.ToFailing-a.FromFailing-a.ToFailing, flag(b.Stale)-flag(a.Stale), strings.Compare(a.Name, b.Name))
	})
	return all
}

// isNoticeable reports whether anything is wrong with the node.
func (s *score) isNoticeable() bool { return s.Stale || s.FromFailing+s.ToFailing > 0 }

// worst returns all targets, the worst first: failing ones by how long they fail, then those of
// which most attempts fail, then the slowest.
func (r *Report) worst() []*Edge {
	all := make([]*Edge, 0, len(r.Edges))
	for i := range r.Edges {
		all = append(all, &r.Edges[i])
	}
	since := func(e *Edge) time.Time {
		if e.FailingSince == nil {
			return r.Time.Time
		}
		return e.FailingSince.Time
	}
	slices.SortStableFunc(all, func(a, b *Edge) int {
		if a.Failing && b.Failing {
			return since(a).Compare(since(b))
		}
		return cmp.Or(flag(b.Failing)-flag(a.Failing), cmp.Compare(b.loss(), a.loss()), cmp.Compare(b.LatencyMicroseconds, a.LatencyMicroseconds))
	})
	return all
}

// loss returns the share of the attempts that failed.
func (e *Edge) loss() float64 {
	if e.Attempts == 0 {
		return 0
	}
	return float64(e.Failures) / float64(e.Attempts)
}

func flag(is bool) int {
	if is {
		return 1
	}
	return 0
}
