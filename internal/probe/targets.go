// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"cmp"
	"net"
	"net/netip"
	"slices"
	"time"

	"github.com/trellis-network/trellis/api/connectivity/v1alpha1"
)

// Target is what one result of a report is about.
type Target struct {
	Family  v1alpha1.IPFamily
	Type    v1alpha1.CheckType
	Name    string
	Address string
}

func (t Target) compare(other Target) int {
	return cmp.Or(cmp.Compare(t.Family, other.Family), cmp.Compare(t.Type, other.Type),
		cmp.Compare(t.Name, other.Name), cmp.Compare(t.Address, other.Address))
}

// rotationPeriod is how long a probe tests its rotating peer: long enough to find a pair that
// fails, and 288 other nodes are tested in a day.
const rotationPeriod = 5 * time.Minute

// rotationAt returns the number of the rotation, the same in all probes whose clocks agree.
func rotationAt(now time.Time) int64 { return now.Unix() / int64(rotationPeriod/time.Second) }

// knowledge is all that the targets of a probe follow from.
type knowledge struct {
	Settings
	roster Roster
	// nodeAddresses are what peers have stated, by the name of their node.
	nodeAddresses map[string][]netip.Addr
	serviceIPs    []netip.Addr
	dns           DNS
}

// targets returns what to test at a time, without doubles: only families of the probe's own pod, and
// only addresses to which MayConnect lets it connect.
func (k *knowledge) targets(now time.Time) []Target {
	var all []Target
	add := func(check v1alpha1.CheckType, name string, address netip.Addr, port uint16) {
		family, to := FamilyOf(address), netip.AddrPortFrom(address.Unmap(), port)
		if MayConnect(to) && slices.ContainsFunc(k.PodIPs, func(own netip.Addr) bool { return FamilyOf(own) == family }) {
			all = append(all, Target{family, check, name, to.String()})
		}
	}
	for _, address := range k.HostIPs {
		add(v1alpha1.CheckNodes, k.Node, address, k.KubeletPort)
	}
	for _, node := range k.roster.choose(k.Node, k.Peers, rotationAt(now)) {
		for _, address := range k.roster.peers[node] {
			add(v1alpha1.CheckPods, node, address, k.Port)
		}
		for _, address := range k.nodeAddresses[node] {
			add(v1alpha1.CheckNodes, node, address, k.KubeletPort)
		}
	}
	for _, address := range k.serviceIPs {
		add(v1alpha1.CheckServices, k.Service, address, servicePort)
	}
	for _, server := range k.dns.Servers {
		if k.dns.Name == "" {
			break
		}
		add(v1alpha1.CheckDNS, k.dns.Name, server, dnsPort)
	}
	return append(all, k.outside()...)
}

// outside returns the target that the operator has set: one for each family, or only one if it is
// an address. A name's addresses are known only when it is resolved, so the dialer checks them.
func (k *knowledge) outside() []Target {
	host, _, err := net.SplitHostPort(k.Outside)
	if err != nil {
		return nil
	}
	literal, notLiteral := netip.ParseAddr(host)
	if notLiteral == nil && !usable(literal) {
		return nil
	}
	var all []Target
	for _, own := range k.PodIPs {
		if notLiteral != nil || FamilyOf(literal) == FamilyOf(own) {
			all = append(all, Target{FamilyOf(own), v1alpha1.CheckOutside, host, k.Outside})
		}
	}
	return all
}

const (
	// servicePort is the port of the probes' Service.
	servicePort = 80
	dnsPort     = 53
	// maxAddresses is how many addresses of a node a peer may state: one for each family.
	maxAddresses = 2
)

// learn keeps the addresses that a peer states for its node.
func (k *knowledge) learn(node string, stated []string) {
	var addresses []netip.Addr
	for _, text := range stated[:min(len(stated), maxAddresses)] {
		if address, err := netip.ParseAddr(text); err == nil && usable(address) {
			addresses = append(addresses, address)
		}
	}
	if len(addresses) > 0 {
		k.nodeAddresses[node] = addresses
	}
}

// forget drops the addresses of nodes that are gone.
func (k *knowledge) forget() {
	for node := range k.nodeAddresses {
		if k.roster.peers[node] == nil {
			delete(k.nodeAddresses, node)
		}
	}
}
