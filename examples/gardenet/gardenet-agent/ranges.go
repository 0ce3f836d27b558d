// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/binary"
	"fmt"
	"net/netip"

	corev1 "k8s.io/api/core/v1"
)

// plan returns the range of the agent's node, and the addresses of the other nodes by their ranges. A
// node without a range or an address gets its route when it has both.
func (s *settings) plan(nodes []any) (own netip.Prefix, others map[netip.Prefix]netip.Addr, err error) {
	others = map[netip.Prefix]netip.Addr{}
	for _, each := range nodes {
		node := each.(*corev1.Node)
		part, err := s.partOf(node.Spec.PodCIDR)
		switch address := addressOf(node); {
		case node.Name == s.node && err != nil:
			return own, nil, fmt.Errorf("the node has no range of pods: %w", err)
		case node.Name == s.node:
			own = part
		case err == nil && address.IsValid():
			others[part] = address
		}
	}
	if !own.IsValid() {
		return own, nil, fmt.Errorf("there is no node %q", s.node)
	}
	return own, others, nil
}

// partOf returns the part of the range for pods' addresses that belongs to the node with a podCIDR: it
// lies there as the podCIDR does in the range of all podCIDRs. So no two nodes have the same.
func (s *settings) partOf(podCIDR string) (netip.Prefix, error) {
	cidr, err := netip.ParsePrefix(podCIDR)
	if err != nil {
		return cidr, fmt.Errorf("spec.podCIDR: %w", err)
	}
	bits := s.ipam.Bits() + cidr.Bits() - s.pods.Bits()
	if !cidr.Addr().Is4() || cidr.Bits() < s.pods.Bits() || !s.pods.Contains(cidr.Addr()) || bits > 30 {
		return netip.Prefix{}, fmt.Errorf("spec.podCIDR %s is not in %s, or leaves no addresses in %s", cidr, s.pods, s.ipam)
	}
	index := (number(cidr.Addr()) - number(s.pods.Masked().Addr())) >> (32 - cidr.Bits())
	var address [4]byte
	binary.BigEndian.PutUint32(address[:], number(s.ipam.Masked().Addr())+index<<(32-bits))
	return netip.PrefixFrom(netip.AddrFrom4(address), bits), nil
}

func number(address netip.Addr) uint32 {
	bytes := address.As4()
	return binary.BigEndian.Uint32(bytes[:])
}

// addressOf returns a node's internal IPv4 address, the zero Addr if it has none.
func addressOf(node *corev1.Node) netip.Addr {
	for _, each := range node.Status.Addresses {
		if address, err := netip.ParseAddr(each.Address); err == nil && each.Type == corev1.NodeInternalIP && address.Is4() {
			return address
		}
	}
	return netip.Addr{}
}
