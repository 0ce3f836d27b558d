// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"net/netip"
	"slices"

	"github.com/trellis-network/trellis/api/connectivity/v1alpha1"
	"github.com/trellis-network/trellis/internal/probe/apiserver"
	"github.com/trellis-network/trellis/internal/probe/choose"
)

// peer is the probe of another node: the address of its pod in each family.
type peer map[v1alpha1.IPFamily]netip.Addr

// Roster is the probes of the other nodes, by node. The zero Roster knows none.
type Roster struct {
	peers map[string]peer
	// chosen are the peers that were chosen last, for a rotation, nil if none were since Update.
	chosen   []string
	rotation int64
}

// Update takes the peers from the endpoints of all probes. A probe that starts is no peer until
// it is ready for the first time. From then on it is one until its pod is gone or about to go:
// a pod of which its node or the API server hears nothing any more is not ready, and
// that is when its connectivity matters.
func (r *Roster) Update(self string, endpoints []apiserver.Endpoint) {
	next := map[string]peer{}
	for _, endpoint := range endpoints {
		if endpoint.Terminating || endpoint.Node == "" || endpoint.Node == self || !usable(endpoint.Address) {
			continue
		}
		family := FamilyOf(endpoint.Address)
		if !endpoint.Ready && r.peers[endpoint.Node][family] != endpoint.Address {
			continue
		}
		if next[endpoint.Node] == nil {
			next[endpoint.Node] = peer{}
		}
		// While a pod is replaced, there may be two: the ready one counts.
		if _, has := next[endpoint.Node][family]; !has || endpoint.Ready {
			next[endpoint.Node][family] = endpoint.Address
		}
	}
	*r = Roster{peers: next}
}

// Nodes returns the names of the peers' nodes, sorted.
func (r *Roster) Nodes() []string {
	nodes := make([]string, 0, len(r.peers))
	for node := range r.peers {
		nodes = append(nodes, node)
	}
	slices.Sort(nodes)
	return nodes
}

// choose returns the nodes that self tests in a rotation, as choose.Peers does. That hashes the
// names of all nodes, so it is done once as long as neither the nodes nor the rotation change.
func (r *Roster) choose(self string, k int, rotation int64) []string {
	if r.chosen == nil || r.rotation != rotation {
		r.chosen, r.rotation = choose.Peers(self, r.Nodes(), k, rotation), rotation
	}
	return r.chosen
}

// FamilyOf returns the family of an address.
func FamilyOf(address netip.Addr) v1alpha1.IPFamily {
	if address.Unmap().Is4() {
		return v1alpha1.IPv4
	}
	return v1alpha1.IPv6
}
