// SPDX-License-Identifier: Apache-2.0

package robustness

import (
	"fmt"
	"sync"
	"testing"
	"time"
)

// attempt makes the n-th attempt of each write of a scenario fail with a fault.
func attempt(fault string, n int) func() disturbance {
	return func() disturbance {
		var mu sync.Mutex
		tried := map[string]int{}
		return disturbance{fault: func(_ int, w *write) string {
			mu.Lock()
			defer mu.Unlock()
			what := w.method + w.key() + w.subresource
			if tried[what]++; tried[what] == n {
				return fault
			}
			return noFault
		}}
	}
}

// firstOf makes the first writes of one resource in a cluster fail with a fault, at most a
// number of them.
func firstOf(most int, fault, cluster, resource string) func() disturbance {
	return func() disturbance {
		var mu sync.Mutex
		met := 0
		return disturbance{fault: func(_ int, w *write) string {
			mu.Lock()
			defer mu.Unlock()
			if w.cluster != cluster || w.resource != resource || met >= most {
				return noFault
			}
			met++
			return fault
		}}
	}
}

func always(d disturbance) func() disturbance { return func() disturbance { return d } }

// The result is the same with every fault of an API server. In each life, the writes of every
// scenario meet the fault.
func TestFaults(t *testing.T) {
	type kind struct {
		name    string
		disturb func() disturbance
		// rare kinds run only with -robustness.all.
		rare bool
	}
	var kinds []kind
	for _, fault := range []string{conflict, timeout, lostTimeout, tooMany} {
		for n := 1; n <= 2; n++ {
			kinds = append(kinds, kind{fmt.Sprintf("%s at attempt %d", fault, n), attempt(fault, n),
				n > 1 || fault != conflict && fault != lostTimeout})
		}
	}
	for _, each := range []struct{ cluster, resource string }{
		{inShoot, "configmaps"}, {inShoot, "daemonsets"}, {inSeed, managedResources}, {inSeed, secrets}, {inSeed, networks}, {inSeed, "configmaps"},
	} {
		kinds = append(kinds, kind{"403 for " + each.resource + " in the " + each.cluster,
			firstOf(2, forbidden, each.cluster, each.resource), each.resource != managedResources})
	}
	for _, each := range []watchFault{lag, drop, repeat, reorder} {
		kinds = append(kinds, kind{"watches: " + string(each), always(disturbance{watches: each}), each != drop})
	}
	for j, k := range kinds {
		for i, l := range lives {
			// An ordinary run has time for one life with each kind, alternately the first and
			// the second.
			if (k.rare || i != j%2) && !*all {
				continue
			}
			t.Run(k.name+"/"+l.name, func(t *testing.T) {
				t.Parallel()
				l.lived(t, func(s *scenario, _ golden) []disturbance {
					if s.onTheWay {
						return nil
					}
					return []disturbance{k.disturb()}
				})
			})
		}
	}
}

// A new process may read objects as they were before the writes of the previous process.
func TestOlderReads(t *testing.T) {
	reads := map[string]readFault{
		"lists": {lists: true, within: 500 * time.Millisecond},
		// A cache may answer reads of single objects, even if the client does not ask for
		// older data.
		"objects": {objects: []string{"configmaps", "daemonsets", "serviceaccounts", "clusterroles"}, within: 500 * time.Millisecond},
	}
	for name, fault := range reads {
		for i, l := range lives {
			if i > 0 && !*all {
				continue
			}
			for _, part := range []int{1, 2, 3} {
				if (part != 2 || fault.lists) && !*all {
					continue
				}
				t.Run(fmt.Sprintf("%s/%s/%d thirds", name, l.name, part), func(t *testing.T) {
					t.Parallel()
					l.lived(t, func(s *scenario, g golden) []disturbance {
						return []disturbance{{killAt: max(1, g.writes*part/3)}, {reads: fault}}
					})
				})
			}
		}
	}
}
