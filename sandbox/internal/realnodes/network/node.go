// SPDX-License-Identifier: Apache-2.0

package network

import (
	"fmt"
	"net"
	"net/netip"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"

	"github.com/trellis-network/trellis/sandbox/internal/realnodes/plan"
)

// configure gives the interface of a node its addresses and routes.
func configure(pid int, node plan.Node, routers []netip.Prefix) error {
	namespace, err := netns.GetFromPid(pid)
	if err != nil {
		return fmt.Errorf("open the namespace of process %d: %w", pid, err)
	}
	defer namespace.Close()
	inside, err := netlink.NewHandleAt(namespace)
	if err != nil {
		return err
	}
	defer inside.Close()

	link, err := inside.LinkByName(NodeInterface)
	if err != nil {
		return err
	}
	if err := inside.LinkSetGSOMaxSegs(link, 1); err != nil {
		return err
	}
	loopback, err := inside.LinkByName("lo")
	if err != nil {
		return err
	}
	for _, up := range []netlink.Link{loopback, link} {
		if err := inside.LinkSetUp(up); err != nil {
			return err
		}
	}
	for _, address := range node.Addresses {
		if err := inside.AddrAdd(link, netlinkAddress(address)); err != nil {
			return fmt.Errorf("add the address %s: %w", address, err)
		}
	}
	for _, router := range routers {
		route := &netlink.Route{LinkIndex: link.Attrs().Index, Dst: everything(router.Addr()), Gw: router.Addr().AsSlice()}
		if err := inside.RouteAdd(route); err != nil {
			return fmt.Errorf("add the default route by %s: %w", router.Addr(), err)
		}
	}
	return nil
}

// everything is the range of all addresses of the family of address.
func everything(address netip.Addr) *net.IPNet {
	return &net.IPNet{IP: make(net.IP, address.BitLen()/8), Mask: net.CIDRMask(0, address.BitLen())}
}

// NodeSysctls make the namespace of the calling process that of a node: it forwards packets
// of pods, and kube-proxy sees those that a bridge of pods forwards.
func NodeSysctls() error {
	return setSysctls(map[string]string{
		"net/ipv4/ip_forward":                 "1",
		"net/ipv6/conf/all/forwarding":        "1",
		"net/bridge/bridge-nf-call-iptables":  "1",
		"net/bridge/bridge-nf-call-ip6tables": "1",
	})
}
