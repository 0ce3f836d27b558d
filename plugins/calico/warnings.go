// SPDX-License-Identifier: Apache-2.0

package calico

import (
	"net/netip"
	"slices"
	"strings"

	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/plugins/calico/v1alpha1"
)

// warnings are all of them. Where Gardener's extension contradicts itself, the
// result stays the same here, and the user is told.
var warnings = slices.Concat(encapsulationWarnings, ipv6Warnings, addressWarnings, helperWarnings)

// encapsulationWarnings are about how packets travel from node to node.
var encapsulationWarnings = plugin.Warnings[v1alpha1.NetworkConfig]{
	{Path: "backend", If: func(e *v1alpha1.NetworkConfig, _ *plugin.Input) bool {
		return e.Overlay == nil && hasBackend(e, v1alpha1.VXLANBackend) && poolIs(e, v1alpha1.PoolIPIP) && encapsulates(*e.IPv4.Mode)
	}, Message: "the address pool uses IP-in-IP, for which backend vxlan makes no routes; write bird, or in a new network " + forVXLAN},

	{Path: "backend", If: func(e *v1alpha1.NetworkConfig, _ *plugin.Input) bool {
		return nothingForVXLAN(e) && usesHostLocal(e)
	}, Message: withoutRoutes + "; write none where the cloud makes them, or bird"},

	{Path: "backend", If: func(e *v1alpha1.NetworkConfig, _ *plugin.Input) bool {
		return nothingForVXLAN(e) && !usesHostLocal(e)
	}, Message: withoutRoutes + "; write bird"},

	{Path: "ipv4.pool", If: func(e *v1alpha1.NetworkConfig, _ *plugin.Input) bool {
		return overlayOn(e) && !hasIPv6(e) && !e.VXLAN.Enabled && poolIs(e, v1alpha1.PoolVXLAN)
	}, Message: "packets still travel through IP-in-IP: the address pool that comes with overlay.enabled takes precedence; leave it out, or in a new network " + forVXLAN},

	{Path: "ipv4.mode", If: func(e *v1alpha1.NetworkConfig, _ *plugin.Input) bool {
		return !e.VXLAN.Enabled && e.Overlay == nil && hasBackend(e, v1alpha1.None) && poolIs(e, v1alpha1.PoolIPIP) && encapsulates(*e.IPv4.Mode)
	}, Message: "packets are still not encapsulated: with backend none Felix sets up no IP-in-IP"},

	{Path: "vxlan.enabled", If: func(e *v1alpha1.NetworkConfig, _ *plugin.Input) bool {
		return e.VXLAN.Enabled && hasIPv4(e) && overlayOff(e)
	}, Message: "packets are still not encapsulated, since overlay.enabled is false; what remains of it is ipam.type calico-ipam"},

	{Path: "vxlan.enabled", If: func(e *v1alpha1.NetworkConfig, _ *plugin.Input) bool {
		return e.VXLAN.Enabled && hasIPv4(e) && e.Overlay == nil && !encapsulates(*e.IPv4.Mode)
	}, Message: "packets are still not encapsulated, since ipv4.mode is Never or Off; what remains of it is ipam.type calico-ipam"},

	{Path: "vxlan.enabled", If: func(e *v1alpha1.NetworkConfig, _ *plugin.Input) bool {
		return e.VXLAN.Enabled && e.Overlay == nil && !hasBackend(e, v1alpha1.None) && poolIs(e, v1alpha1.PoolIPIP) && encapsulates(*e.IPv4.Mode)
	}, Message: "packets still travel through IP-in-IP, since ipv4.pool is ipip; what remains of it is ipam.type calico-ipam"},

	{Path: "vxlan.enabled", If: func(e *v1alpha1.NetworkConfig, _ *plugin.Input) bool {
		return e.VXLAN.Enabled && e.Overlay == nil && hasBackend(e, v1alpha1.None) && poolIs(e, v1alpha1.PoolIPIP) && encapsulates(*e.IPv4.Mode)
	}, Message: "packets are still not encapsulated, since ipv4.pool is ipip, and with backend none Felix sets up no IP-in-IP; what remains of it is ipam.type calico-ipam"},

	{Path: "vxlan.enabled", If: func(e *v1alpha1.NetworkConfig, _ *plugin.Input) bool {
		return e.VXLAN.Enabled && poolBesideNone(e) && !hasIPv6(e)
	}, Message: poolWithoutVXLAN + forVXLAN},

	{Path: "vxlan.enabled", If: func(e *v1alpha1.NetworkConfig, _ *plugin.Input) bool {
		return e.VXLAN.Enabled && poolBesideNone(e) && hasIPv6(e)
	}, Message: poolWithoutVXLAN + withIPv6 + "vxlan, ipv4.pool and ipv4.mode out of a new network"},

	{Path: "ipv4.pool", If: func(e *v1alpha1.NetworkConfig, _ *plugin.Input) bool {
		return !e.VXLAN.Enabled && poolBesideNone(e) && !hasIPv6(e)
	}, Message: poolWithoutVXLAN + "leave ipv4.pool and ipv4.mode out, or in a new network " + forVXLAN},

	{Path: "ipv4.pool", If: func(e *v1alpha1.NetworkConfig, _ *plugin.Input) bool {
		return !e.VXLAN.Enabled && poolBesideNone(e) && hasIPv6(e)
	}, Message: poolWithoutVXLAN + withIPv6 + "ipv4.pool and ipv4.mode out"},
}

// poolBesideNone reports whether the pool that calico-node makes is of VXLAN, in a network
// in which only the cloud makes routes.
func poolBesideNone(e *v1alpha1.NetworkConfig) bool {
	return e.Overlay == nil && hasBackend(e, v1alpha1.None) && poolIs(e, v1alpha1.PoolVXLAN) && encapsulates(*e.IPv4.Mode)
}

// nothingForVXLAN reports whether the backend is for VXLAN, but nothing is encapsulated.
func nothingForVXLAN(e *v1alpha1.NetworkConfig) bool {
	return e.Overlay == nil && hasBackend(e, v1alpha1.VXLANBackend) && hasIPv4(e) && !encapsulates(*e.IPv4.Mode)
}

// What several warnings say.
const (
	withoutRoutes    = "packets travel as they are, since ipv4.mode is Never or Off, and for such packets backend vxlan makes no routes"
	poolWithoutVXLAN = "a network with backend none is none of VXLAN, although its address pool says so; "
	// forVXLAN is what gives a network VXLAN. It takes another ipam.type, which only
	// a new network can get.
	forVXLAN       = "write overlay.enabled: true and vxlan.enabled: true, without backend, ipv4.pool and ipv4.mode"
	nativeIPv6     = "IPv6 packets still travel as they are: the pool default-ipv6-ippool never encapsulates; "
	withIPv6       = "IPv6 only travels as it is, so leave "
	withoutOverlay = "write false, and nothing of backend, vxlan, ipv4.pool and ipv4.mode"
)

// ipv6Warnings are about networks with IPv6, which Calico only routes.
var ipv6Warnings = plugin.Warnings[v1alpha1.NetworkConfig]{
	{Path: "overlay.enabled", If: func(e *v1alpha1.NetworkConfig, _ *plugin.Input) bool {
		return overlayOn(e) && hasIPv6(e) && usesHostLocal(e)
	}, Message: nativeIPv6 + withoutOverlay},

	{Path: "overlay.enabled", If: func(e *v1alpha1.NetworkConfig, _ *plugin.Input) bool {
		return overlayOn(e) && hasIPv6(e) && !usesHostLocal(e)
	}, Message: nativeIPv6 + "in a new network " + withoutOverlay},

	{Path: "overlay.enabled", If: func(e *v1alpha1.NetworkConfig, _ *plugin.Input) bool {
		return overlayOn(e) && isDualStack(e) && !e.VXLAN.Enabled
	}, Message: "the IPv4 pool asks for IP-in-IP, which Felix does not set up in a network with IPv6, so IPv4 packets may not arrive; " + withoutOverlay},

	{Path: "ipv4.pool", If: func(e *v1alpha1.NetworkConfig, _ *plugin.Input) bool {
		return overlayOn(e) && isDualStack(e) && !e.VXLAN.Enabled && poolIs(e, v1alpha1.PoolVXLAN)
	}, Message: "the address pool default-ipv4-ippool still says IP-in-IP, since overlay.enabled is true and vxlan.enabled is not"},

	{Path: "ipv4.mode", If: func(e *v1alpha1.NetworkConfig, _ *plugin.Input) bool {
		return overlayOn(e) && isDualStack(e) && *e.IPv4.Mode != v1alpha1.Always
	}, Message: "the address pool default-ipv4-ippool still says Always, since overlay.enabled is true"},

	{Path: "ipv4.mode", If: func(e *v1alpha1.NetworkConfig, _ *plugin.Input) bool {
		return overlayOff(e) && isDualStack(e) && encapsulates(*e.IPv4.Mode) && !e.VXLAN.Enabled
	}, Message: "the address pool default-ipv4-ippool still says Never, since overlay.enabled is false"},

	{Path: "vxlan.enabled", If: func(e *v1alpha1.NetworkConfig, _ *plugin.Input) bool {
		return e.VXLAN.Enabled && hasIPv6(e) && !hasIPv4(e)
	}, Message: "packets are still not encapsulated: VXLAN is for IPv4, which the network does not have"},

	{Path: "ipam.type", If: func(e *v1alpha1.NetworkConfig, _ *plugin.Input) bool {
		return !usesHostLocal(e) && hasIPv6(e)
	}, Message: "calico-ipam, which VXLAN brings with it, gives pods IPv6 addresses without routes; in a new network leave backend, overlay, vxlan, ipv4.pool and ipv4.mode out"},

	{Path: "ipv4", If: func(e *v1alpha1.NetworkConfig, f *plugin.Input) bool {
		return hasIPv4(e) && podRangeIPv4(f) == ""
	}, Message: "the pods' IPv4 range is not known, since the one that the Network states is of IPv6, and the Shoot's status.networking.pods has none; the address pool of IPv4 stays empty. State the IPv4 range where two families are wanted"},

	{Path: "ipv6", If: func(e *v1alpha1.NetworkConfig, f *plugin.Input) bool {
		return hasIPv6(e) && podRangeIPv6(f) == ""
	}, Message: "the pods' IPv6 range is not known yet, since the Shoot's status.networking.pods has none; pool default-ipv6-ippool stays empty until then"},
}

// addressWarnings are about pods' addresses.
var addressWarnings = plugin.Warnings[v1alpha1.NetworkConfig]{
	{Path: "ipam.type", If: func(e *v1alpha1.NetworkConfig, _ *plugin.Input) bool {
		return !usesHostLocal(e) && !hasKubeControllers(e)
	}, Message: "with backend none there are no kube-controllers, so nothing collects addresses of calico-ipam that pods left behind; and routes that a cloud makes lead to the nodes' own ranges, which calico-ipam does not keep to"},

	{Path: "ipam.cidr", If: func(e *v1alpha1.NetworkConfig, _ *plugin.Input) bool {
		return usesHostLocal(e) && !isNodesRange(*e.IPAM.CIDR)
	}, Message: "every node gives its pods addresses of this one range, so two pods on different nodes can get the same; usePodCIDR gives each node its own"},

	{Path: "ipam.cidr", If: func(e *v1alpha1.NetworkConfig, _ *plugin.Input) bool {
		return !usesHostLocal(e) && !isNodesRange(*e.IPAM.CIDR)
	}, Message: "pods do not get addresses of this range: calico-ipam, which VXLAN brings with it, takes them from the address pool"},

	{Path: "ipam.cidr", If: func(e *v1alpha1.NetworkConfig, f *plugin.Input) bool {
		return usesHostLocal(e) && isOfOtherFamily(*e.IPAM.CIDR, f)
	}, Message: "the network does not have the family of this range: pods get addresses without routes; usePodCIDR gives each node its own of the right family"},

	{Path: "ipam.cidr", If: func(e *v1alpha1.NetworkConfig, f *plugin.Input) bool {
		return usesHostLocal(e) && overlaps(*e.IPAM.CIDR, f.ServiceCIDR)
	}, Message: "it overlaps with the Services' range: a pod with the address of a Service cannot be reached; usePodCIDR gives each node a range of its own"},

	{Path: "ipv4.autoDetectionMethod", If: func(e *v1alpha1.NetworkConfig, _ *plugin.Input) bool {
		return hasIPv4(e) && looksForFamily(e.IPv4.AutoDetectionMethod, netip.Addr.Is6)
	}, Message: "no node has an IPv4 address in an IPv6 range, so calico-node does not start; write a range of IPv4"},

	{Path: "ipv6.autoDetectionMethod", If: func(e *v1alpha1.NetworkConfig, _ *plugin.Input) bool {
		return hasIPv6(e) && looksForFamily(e.IPv6.AutoDetectionMethod, netip.Addr.Is4)
	}, Message: "no node has an IPv6 address in an IPv4 range, so calico-node does not start; write a range of IPv6"},

	{Path: "overlay.enabled", If: func(e *v1alpha1.NetworkConfig, f *plugin.Input) bool {
		return hasIPv4(e) && (encapsulationOf(e) == unencapsulated || hasBackend(e, v1alpha1.None)) && !f.Infrastructure.OwnNetwork
	}, Message: "without overlay the network between the nodes sees pods' addresses, so if other clusters have nodes in it, their pod ranges must not overlap with this one's; give each a range of its own"},
}

func isNodesRange(cidr string) bool {
	return strings.EqualFold(cidr, v1alpha1.UsePodCIDR) || cidr == v1alpha1.UsePodCIDRIPv6
}

func isOfOtherFamily(cidr string, f *plugin.Input) bool {
	prefix, err := netip.ParsePrefix(cidr)
	if err != nil {
		return false
	}
	family := extensionsv1alpha1.IPv4
	if prefix.Addr().Is6() {
		family = extensionsv1alpha1.IPv6
	}
	return !f.WantsIPFamily(family)
}

func overlaps(one, other string) bool {
	a, err := netip.ParsePrefix(one)
	b, err2 := netip.ParsePrefix(other)
	return err == nil && err2 == nil && a.Overlaps(b)
}

// looksForFamily reports whether nodes look for their address in a range of a family.
func looksForFamily(method *string, isOfFamily func(netip.Addr) bool) bool {
	if method == nil {
		return false
	}
	cidr, isRange := strings.CutPrefix(*method, "cidr=")
	prefix, err := netip.ParsePrefix(cidr)
	return isRange && err == nil && isOfFamily(prefix.Addr())
}

// helperWarnings are about what stands beside calico-node or changes the node.
var helperWarnings = plugin.Warnings[v1alpha1.NetworkConfig]{
	{Path: "birdExporter.enabled", If: func(e *v1alpha1.NetworkConfig, f *plugin.Input) bool {
		return e.BirdExporter.Enabled && !isPrivileged(e, f)
	}, Message: "there is only its Service: the exporter cannot run in a calico-node that is not privileged"},

	{Path: "birdExporter.enabled", If: func(e *v1alpha1.NetworkConfig, f *plugin.Input) bool {
		return e.BirdExporter.Enabled && isPrivileged(e, f) && !hasBackend(e, v1alpha1.Bird)
	}, Message: "there is nothing to export, since BIRD only runs with backend bird"},

	{Path: "ebpfDataplane.enabled", If: func(e *v1alpha1.NetworkConfig, f *plugin.Input) bool {
		return e.EBPFDataplane.Enabled && f.FeatureGates[nonPrivilegedGate]
	}, Message: "calico-node is still privileged: eBPF takes precedence over the operator's feature gate " + nonPrivilegedGate},

	{Path: "snatToUpstreamDNS.enabled", If: func(e *v1alpha1.NetworkConfig, f *plugin.Input) bool {
		return e.SnatToUpstreamDNS.Enabled && f.NodeLocalDNS
	}, Message: "without overlay NetworkPolicies cannot block pods' DNS requests to the nodes' cache (NodeLocalDNS), whose rules come before Calico's; write false here, switch off NodeLocalDNS, or in a network of IPv4 only switch on the overlay"},
}
