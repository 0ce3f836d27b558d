// SPDX-License-Identifier: Apache-2.0

// Package choose decides which nodes the probe of a node tests. It is pure: probes that know the
// same nodes agree on who tests whom without talking to each other.
package choose

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"slices"
)

// successors is how many of the chosen nodes are those that follow on the ring. Each node is
// therefore tested by as many others at least; by rendezvous hashing alone, a node of 150
// would be tested by none.
const successors = 2

// Peers returns the nodes that self tests, sorted: k of nodes that stay, and one that changes with
// rotation. If there are no more than k others, it returns all of them. Nodes may contain self.
//
// All nodes are on a ring, ordered by the hashes of their names. Two of the k follow self on the
// ring. The others have the highest hashes of their names with self's (rendezvous hashing), so
// that the tested pairs connect all nodes, and few pairs change when a node joins or leaves. The
// rotating node is a number of steps from self, the same for all nodes: in each rotation
// each node is tested by one more, and after len(nodes) rotations self has tested all others.
func Peers(self string, nodes []string, k int, rotation int64) []string {
	ring := ringAfter(self, nodes)
	if len(ring) <= k {
		return sorted(ring)
	}
	fixed := min(successors, k)
	chosen := slices.Clone(ring[:fixed])
	chosen = append(chosen, highest(self, ring[fixed:], k-fixed)...)
	steps := int64(len(ring) - fixed)
	rotating := ring[fixed+int(((rotation%steps)+steps)%steps)]
	if !slices.Contains(chosen, rotating) {
		chosen = append(chosen, rotating)
	}
	return sorted(chosen)
}

// ringAfter returns the nodes other than self, in the order of the ring, from self on.
func ringAfter(self string, nodes []string) []string {
	others := weigh(nodes, func(node string) uint64 { return hash(node) })
	others = slices.DeleteFunc(others, func(w weighed) bool { return w.name == self })
	slices.SortFunc(others, weighed.compare)
	others = slices.Compact(others)
	start, _ := slices.BinarySearchFunc(others, weighed{self, hash(self)}, weighed.compare)
	return names(slices.Concat(others[start:], others[:start]))
}

// highest returns the k nodes with the highest hashes with self.
func highest(self string, nodes []string, k int) []string {
	all := weigh(nodes, func(node string) uint64 { return hash(self, node) })
	slices.SortFunc(all, func(a, b weighed) int { return b.compare(a) })
	return names(all[:min(k, len(all))])
}

type weighed struct {
	name   string
	weight uint64
}

func (w weighed) compare(other weighed) int {
	return cmp.Or(cmp.Compare(w.weight, other.weight), cmp.Compare(w.name, other.name))
}

func weigh(nodes []string, weight func(string) uint64) []weighed {
	all := make([]weighed, len(nodes))
	for i, node := range nodes {
		all[i] = weighed{node, weight(node)}
	}
	return all
}

func names(all []weighed) []string {
	found := make([]string, len(all))
	for i := range all {
		found[i] = all[i].name
	}
	return found
}

func sorted(nodes []string) []string {
	slices.Sort(nodes)
	return nodes
}

// hash returns the same number for the same names in every probe of every version. Names do not
// contain the byte 0, so that different lists of names are different texts.
func hash(names ...string) uint64 {
	h := sha256.New()
	for _, name := range names {
		h.Write([]byte(name))
		h.Write([]byte{0})
	}
	return binary.BigEndian.Uint64(h.Sum(nil))
}
