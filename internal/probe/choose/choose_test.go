// SPDX-License-Identifier: Apache-2.0

package choose_test

import (
	"fmt"
	"slices"
	"testing"

	. "github.com/onsi/gomega"
	"pgregory.net/rapid"

	"github.com/trellis-network/trellis/internal/probe/choose"
)

const k = 5

func nodes(n int) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf("shoot--project--name-worker-z%d-%05x", i%3, i*7919)
	}
	return all
}

// tests returns who tests whom.
func tests(nodes []string, rotation int64) map[string][]string {
	all := map[string][]string{}
	for _, node := range nodes {
		all[node] = choose.Peers(node, nodes, k, rotation)
	}
	return all
}

func TestEachNodeIsTestedByThreeOthers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := NewWithT(t)
		all := nodes(rapid.IntRange(k+2, 100).Draw(t, "nodes"))
		by := map[string]int{}
		for node, peers := range tests(all, rapid.Int64().Draw(t, "rotation")) {
			g.Expect(peers).NotTo(ContainElement(node))
			g.Expect(len(peers)).To(BeNumerically("~", k+1, 1))
			g.Expect(slices.Compact(slices.Clone(peers))).To(HaveLen(len(peers)))
			for _, peer := range peers {
				by[peer]++
			}
		}
		for _, node := range all {
			g.Expect(by[node]).To(BeNumerically(">=", 3), node)
		}
	})
}

func TestInASmallClusterEachNodeTestsAllOthers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := NewWithT(t)
		all := nodes(rapid.IntRange(0, k+1).Draw(t, "nodes"))
		for node, peers := range tests(all, 0) {
			g.Expect(peers).To(HaveLen(len(all) - 1))
			g.Expect(peers).NotTo(ContainElement(node))
		}
	})
}

func TestThePeersDoNotDependOnTheOrderOfTheNodes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := NewWithT(t)
		all := nodes(rapid.IntRange(0, 60).Draw(t, "nodes"))
		shuffled := rapid.Permutation(all).Draw(t, "order")
		g.Expect(choose.Peers("self", shuffled, k, 3)).To(Equal(choose.Peers("self", all, k, 3)))
		g.Expect(choose.Peers("self", append(shuffled, "self"), k, 3)).To(Equal(choose.Peers("self", all, k, 3)))
		g.Expect(choose.Peers("self", append(shuffled, all...), k, 3)).To(Equal(choose.Peers("self", all, k, 3)), "named twice")
	})
}

// Of the pairs that stay within the same rotation, a node that leaves changes only those in which
// one node tested it, and the rotating ones, which change every few minutes anyway.
func TestANodeThatLeavesChangesFewPairs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := NewWithT(t)
		all := nodes(rapid.IntRange(50, 100).Draw(t, "nodes"))
		leaves := rapid.SampledFrom(all).Draw(t, "leaves")
		rest := slices.DeleteFunc(slices.Clone(all), func(node string) bool { return node == leaves })
		changed := 0
		for _, node := range rest {
			before, after := choose.Peers(node, all, k, 0), choose.Peers(node, rest, k, 0)
			lost := missing(before, after)
			if slices.Contains(before, leaves) {
				changed++
				g.Expect(len(lost)).To(BeNumerically("<=", 3), "the one that left, the rotating one, and one that gives way to a new successor")
			} else {
				g.Expect(len(lost)).To(BeNumerically("<=", 1), "the rotating one")
			}
		}
		g.Expect(changed).To(BeNumerically("<", 25))
	})
}

func missing(before, after []string) []string {
	return slices.DeleteFunc(slices.Clone(before), func(peer string) bool { return slices.Contains(after, peer) })
}

func TestTheRotatingPeerReachesAllNodes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := NewWithT(t)
		all := nodes(rapid.IntRange(k+2, 40).Draw(t, "nodes"))
		first := rapid.Int64Range(0, 1<<40).Draw(t, "rotation")
		met := map[string]bool{}
		for i := range len(all) {
			for _, peer := range choose.Peers(all[0], all, k, first+int64(i)) {
				met[peer] = true
			}
		}
		g.Expect(met).To(HaveLen(len(all) - 1))
	})
}

// The pairs of a thousand nodes connect all of them: no part can be cut off without a failing
// pair. Ten steps reach every node, since pairs are chosen at random.
func TestThePairsConnectAThousandNodes(t *testing.T) {
	g := NewWithT(t)
	all := nodes(1000)
	pairs, edges, most := tests(all, 0), 0, 0
	by := map[string]int{}
	for _, peers := range pairs {
		edges += len(peers)
		for _, peer := range peers {
			by[peer]++
			most = max(most, by[peer])
		}
	}
	g.Expect(edges).To(BeNumerically("<=", 1000*(k+1)))
	g.Expect(most).To(BeNumerically("<", 20), "no node is tested by many")
	reached := map[string]bool{all[0]: true}
	for range 10 {
		for node := range reached {
			for _, peer := range pairs[node] {
				reached[peer] = true
			}
		}
	}
	g.Expect(reached).To(HaveLen(1000))
}
