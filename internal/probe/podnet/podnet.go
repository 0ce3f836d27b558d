// SPDX-License-Identifier: Apache-2.0

// Package podnet reads what a pod can see of its own network: the interface, the gateway, and the
// DNS servers.
package podnet

import (
	"encoding/binary"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/trellis-network/trellis/api/connectivity/v1alpha1"
)

// Interface is a network interface of the pod.
type Interface struct {
	Name     string
	MTU      int
	Prefixes []netip.Prefix
}

// PodInterface returns the interface with an address of the pod, and whether it relies on proxy
// ARP. route and arp are the contents of /proc/net/route and /proc/net/arp, or empty. It returns
// nil if no interface has the address.
func PodInterface(interfaces []Interface, podIPs []netip.Addr, route, arp string) *v1alpha1.PodInterface {
	for _, one := range interfaces {
		has := func(prefix netip.Prefix) bool { return slices.Contains(podIPs, prefix.Addr().Unmap()) }
		if !slices.ContainsFunc(one.Prefixes, has) {
			continue
		}
		return &v1alpha1.PodInterface{Name: one.Name, MTU: int32(one.MTU), ProxyARP: proxyARP(one, route, arp)}
	}
	return nil
}

// proxyARP reports whether the gateway of the interface is resolved by proxy ARP, nil if that
// cannot be told.
func proxyARP(one Interface, route, arp string) *bool {
	gateway, ok := gatewayOf(one.Name, route)
	if !ok {
		return nil
	}
	yes, no := true, false
	for _, prefix := range one.Prefixes {
		if prefix.Bits() < 32 && prefix.Contains(gateway) {
			return &no // the gateway is a neighbour with an address of its own
		}
	}
	switch flags := arpFlags(gateway, one.Name, arp); {
	case flags&permanent != 0:
		return &no
	case flags&complete != 0 && gateway.IsLinkLocalUnicast():
		return &yes
	}
	return nil
}

// Flags of an entry in /proc/net/arp (linux/if_arp.h).
const (
	complete  = 0x2
	permanent = 0x4
)

// gatewayOf returns the IPv4 gateway of the interface's default route.
func gatewayOf(name, route string) (netip.Addr, bool) {
	for line := range strings.Lines(route) {
		// Iface Destination Gateway Flags …, with addresses in the byte order of the machine.
		fields := strings.Fields(line)
		if len(fields) < 4 || fields[0] != name || fields[1] != "00000000" {
			continue
		}
		if number, err := strconv.ParseUint(fields[2], 16, 32); err == nil && number != 0 {
			var bytes [4]byte
			binary.NativeEndian.PutUint32(bytes[:], uint32(number))
			return netip.AddrFrom4(bytes), true
		}
	}
	return netip.Addr{}, false
}

// arpFlags returns the flags of the entry for an address, 0 if there is none.
func arpFlags(address netip.Addr, name, arp string) uint64 {
	for line := range strings.Lines(arp) {
		// IP address, HW type, Flags, HW address, Mask, Device
		fields := strings.Fields(line)
		if len(fields) == 6 && fields[0] == address.String() && fields[5] == name {
			flags, _ := strconv.ParseUint(fields[2], 0, 32)
			return flags
		}
	}
	return 0
}

// maxServers is how many servers a resolver asks (resolv.conf(5)).
const maxServers = 3

// DNS returns the servers in the content of a resolv.conf, and the fully qualified name of a
// Service: with the domain of the cluster, which the search list has after "svc.". The name is
// empty if there is no such domain.
func DNS(resolvConf, namespace, service string) (servers []netip.Addr, name string) {
	for line := range strings.Lines(resolvConf) {
		fields := strings.Fields(line)
		if len(fields) < 2 {
			continue
		}
		switch fields[0] {
		case "nameserver":
			if address, err := netip.ParseAddr(fields[1]); err == nil && len(servers) < maxServers {
				servers = append(servers, address)
			}
		case "search":
			for _, domain := range fields[1:] {
				if strings.HasPrefix(domain, "svc.") {
					name = service + "." + namespace + "." + strings.TrimSuffix(domain, ".") + "."
				}
			}
		}
	}
	return servers, name
}
