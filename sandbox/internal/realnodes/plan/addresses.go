// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"net/netip"
)

const (
	// IPv4Nodes and IPv6Nodes are the ranges of the nodes' addresses in every shoot. Each
	// segment has one /24, and one /64.
	IPv4Nodes = "10.250.0.0/16"
	IPv6Nodes = "fd00:10:250::/48"
	// firstNode is the last part of the address of the first node, and routerHost that of
	// the router of each segment.
	firstNode, routerHost = 11, 1
	// MaxNodes bounds the nodes, and MaxSubnets the segments, of a shoot. A machine runs out
	// of memory first.
	MaxNodes, MaxSubnets = 20, 4
)

// Layout is how many nodes there are, and where.
type Layout struct {
	Nodes, Subnets int
	// IPv4 and IPv6 are the families of the addresses. At least one is set.
	IPv4, IPv6 bool
	// IPv6First makes the IPv6 addresses the first of each list.
	IPv6First bool
}

// Lay returns the segments, and the nodes with name, segment and addresses. Nodes take the
// segments in turn, so that two nodes are in two segments if there are two.
func (l Layout) Lay() ([]Subnet, []Node) {
	var subnets []Subnet
	for i := range l.Subnets {
		subnets = append(subnets, Subnet{Name: fmt.Sprintf("subnet-%d", i+1), Routers: l.addresses(i, routerHost)})
	}
	var nodes []Node
	for i := range l.Nodes {
		nodes = append(nodes, Node{
			Name:      fmt.Sprintf("node-%d", i+1),
			Subnet:    i % l.Subnets,
			Addresses: l.addresses(i%l.Subnets, firstNode+i),
		})
	}
	return subnets, nodes
}

// addresses returns the addresses of a host in a segment, with the segment's masks.
func (l Layout) addresses(subnet, host int) []netip.Prefix {
	four := netip.MustParsePrefix(IPv4Nodes).Addr().As4()
	four[2], four[3] = byte(subnet), byte(host)
	six := netip.MustParsePrefix(IPv6Nodes).Addr().As16()
	six[7], six[15] = byte(subnet), byte(host)
	var all []netip.Prefix
	if l.IPv4 {
		all = append(all, netip.PrefixFrom(netip.AddrFrom4(four), 24))
	}
	if l.IPv6 {
		all = append(all, netip.PrefixFrom(netip.AddrFrom16(six), 64))
	}
	if l.IPv6First && len(all) == 2 {
		all[0], all[1] = all[1], all[0]
	}
	return all
}
