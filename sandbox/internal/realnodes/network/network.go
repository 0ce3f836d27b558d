// SPDX-License-Identifier: Apache-2.0

// Package network makes the network of real nodes: a bridge for each segment, a port for
// each node, and faults on the wire. Everything is in the network namespace of the calling
// thread, and ends with the namespace: the machine's own network is not touched.
//
// The namespace is also the router: what a node sends to another segment, it routes.
package network

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/trellis-network/trellis/sandbox/internal/realnodes/plan"
)

// NodeInterface is the name of a node's interface.
const NodeInterface = "eth0"

// Network is the network of a shoot's nodes. Its methods must be called in the namespace in
// which New was called, and not at the same time.
type Network struct {
	subnets []plan.Subnet
	nodes   []plan.Node
	faults  map[string]Faults
}

// New makes the bridges, with their addresses, in the namespace of the calling thread.
func New(subnets []plan.Subnet, nodes []plan.Node) (*Network, error) {
	if err := setSysctls(routerSysctls); err != nil {
		return nil, err
	}
	if err := setUp("lo"); err != nil {
		return nil, err
	}
	for _, subnet := range subnets {
		if err := addBridge(subnet); err != nil {
			return nil, fmt.Errorf("make the bridge %s: %w", subnet.Name, err)
		}
	}
	return &Network{subnets: subnets, nodes: nodes, faults: map[string]Faults{}}, nil
}

func addBridge(subnet plan.Subnet) error {
	// The bridge keeps the address that it is given, and nodes so keep their neighbour.
	bridge := &netlink.Bridge{LinkAttrs: netlink.LinkAttrs{Name: subnet.Name, HardwareAddr: hardwareAddress(subnet.Routers[0].Addr())}}
	if err := netlink.LinkAdd(bridge); err != nil {
		return err
	}
	for _, address := range subnet.Routers {
		if err := netlink.AddrAdd(bridge, netlinkAddress(address)); err != nil {
			return err
		}
	}
	return netlink.LinkSetUp(bridge)
}

// Attach connects the network namespace of a process to the port of a node. The process's
// namespace gets the interface eth0 with the node's addresses and default routes. Faults of
// the node stay in force.
func (n *Network) Attach(index, pid int) error {
	node := n.nodes[index]
	if err := n.attach(node, pid); err != nil {
		return fmt.Errorf("connect node %s: %w", node.Name, err)
	}
	return nil
}

func (n *Network) attach(node plan.Node, pid int) error {
	if err := n.Detach(node.Name); err != nil {
		return err
	}
	subnet := n.subnets[node.Subnet]
	bridge, err := netlink.LinkByName(subnet.Name)
	if err != nil {
		return err
	}
	port := &netlink.Veth{
		LinkAttrs:        netlink.LinkAttrs{Name: node.Name, MasterIndex: bridge.Attrs().Index},
		PeerName:         NodeInterface,
		PeerHardwareAddr: hardwareAddress(node.Addresses[0].Addr()),
		PeerNamespace:    netlink.NsPid(pid),
	}
	if err := netlink.LinkAdd(port); err != nil {
		return err
	}
	// No frame is longer than the MTU allows, as on a real wire.
	if err := netlink.LinkSetGSOMaxSegs(port, 1); err != nil {
		return err
	}
	if err := configure(pid, node, subnet.Routers); err != nil {
		return err
	}
	if n.faults[node.Name].LinkDown {
		return nil
	}
	return netlink.LinkSetUp(port)
}

// Detach removes the port of a node. It is no error if there is none.
func (n *Network) Detach(node string) error {
	port, err := netlink.LinkByName(node)
	if errors.As(err, &netlink.LinkNotFoundError{}) {
		return nil
	}
	if err != nil {
		return err
	}
	return netlink.LinkDel(port)
}

// hardwareAddress is a locally administered address that follows from an IP address, so that
// a restarted node has the address that others remember.
func hardwareAddress(address netip.Addr) net.HardwareAddr {
	bytes := address.AsSlice()
	last := bytes[len(bytes)-4:]
	if address.Is6() {
		last = []byte{bytes[4], bytes[5], bytes[7], bytes[15]}
	}
	return append(net.HardwareAddr{0x02, 0x00}, last...)
}

// netlinkAddress is the address for netlink. An IPv6 address can be used at once: there is
// no other host that could have it.
func netlinkAddress(address netip.Prefix) *netlink.Addr {
	result := &netlink.Addr{IPNet: &net.IPNet{
		IP:   address.Addr().AsSlice(),
		Mask: net.CIDRMask(address.Bits(), address.Addr().BitLen()),
	}}
	if address.Addr().Is6() {
		result.Flags = unix.IFA_F_NODAD
	}
	return result
}

func setUp(name string) error {
	link, err := netlink.LinkByName(name)
	if err != nil {
		return err
	}
	return netlink.LinkSetUp(link)
}

// routerSysctls make the namespace a router. Bridged packets do not pass its iptables. There is
// no duplicate of an IPv6 address to detect: until it has, a router would find no neighbour.
var routerSysctls = map[string]string{
	"net/ipv4/ip_forward":                 "1",
	"net/ipv6/conf/all/forwarding":        "1",
	"net/ipv6/conf/default/accept_dad":    "0",
	"net/ipv4/conf/all/rp_filter":         "0",
	"net/ipv4/conf/default/rp_filter":     "0",
	"net/bridge/bridge-nf-call-iptables":  "0",
	"net/bridge/bridge-nf-call-ip6tables": "0",
}

// setSysctls sets those of the calling thread's namespace that exist: a kernel may lack IPv6,
// or the filter of bridges.
func setSysctls(values map[string]string) error {
	for name, value := range values {
		err := os.WriteFile(filepath.Join("/proc/sys", name), []byte(value), 0)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("set %s: %w", strings.ReplaceAll(name, "/", "."), err)
		}
	}
	return nil
}
