// SPDX-License-Identifier: Apache-2.0

package calico

import (
	"net/netip"
	"strings"

	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/plugins/calico/v1alpha1"
)

// warner warns users of values in force that together do not do what users expect. Where
// Gardener's extension contradicts itself, the objects are the same here, with a warning.
type warner struct{ plugin.Warner }

// What several warnings say.
const (
	withoutRoutes = "packets travel as they are, since ipv4.mode is Never or Off, and for such packets backend vxlan makes no routes"
	// forVXLAN gives a network VXLAN. It changes ipam.type, which only a new network can do.
	forVXLAN       = "write overlay.enabled: true and vxlan.enabled: true, without backend, ipv4.pool and ipv4.mode"
	nativeIPv6     = "IPv6 packets still travel as they are: the pool default-ipv6-ippool never encapsulates; "
	withoutOverlay = "write false, and nothing of backend, vxlan, ipv4.pool and ipv4.mode"
	// withOwnRoutes does without an overlay where the infrastructure makes no routes.
	withOwnRoutes = "where all nodes are in one layer 2 segment write overlay.enabled: false and overlay.createPodRoutes: true, and nothing of backend, vxlan, ipv4.pool and ipv4.mode"
	onlyIPAM      = "; what remains of it is ipam.type calico-ipam"
)

// encapsulation is about how packets travel from node to node.
func (w warner) encapsulation(e *v1alpha1.NetworkConfig) {
	undecided, none, vxlan := e.Overlay == nil, hasBackend(e, v1alpha1.None), e.VXLAN.Enabled
	mode := hasIPv4(e) && encapsulates(*e.IPv4.Mode)
	ipipPool := mode && poolIs(e, v1alpha1.PoolIPIP)
	onlyVXLAN := undecided && hasBackend(e, v1alpha1.VXLANBackend)
	w.WarnIf(onlyVXLAN && ipipPool, "backend",
		"the address pool uses IP-in-IP, for which backend vxlan makes no routes; write bird, or in a new network "+forVXLAN)
	w.WarnIf(onlyVXLAN && hasIPv4(e) && !mode && usesHostLocal(e), "backend", withoutRoutes+"; write none where the cloud makes them, or bird")
	w.WarnIf(onlyVXLAN && hasIPv4(e) && !mode && !usesHostLocal(e), "backend", withoutRoutes+"; write bird")
	w.WarnIf(overlayOn(e) && !hasIPv6(e) && !vxlan && poolIs(e, v1alpha1.PoolVXLAN), "ipv4.pool",
		"packets still travel through IP-in-IP: the address pool that comes with overlay.enabled takes precedence; leave it out, or in a new network "+forVXLAN)
	w.WarnIf(!vxlan && undecided && none && ipipPool, "ipv4.mode",
		"packets are still not encapsulated: with backend none Felix sets up no IP-in-IP")
	w.WarnIf(vxlan && hasIPv4(e) && overlayOff(e), "vxlan.enabled",
		"packets are still not encapsulated, since overlay.enabled is false"+onlyIPAM)
	w.WarnIf(vxlan && hasIPv4(e) && undecided && !mode, "vxlan.enabled",
		"packets are still not encapsulated, since ipv4.mode is Never or Off"+onlyIPAM)
	w.WarnIf(vxlan && undecided && !none && ipipPool, "vxlan.enabled",
		"packets still travel through IP-in-IP, since ipv4.pool is ipip"+onlyIPAM)
	w.WarnIf(vxlan && undecided && none && ipipPool, "vxlan.enabled",
		"packets are still not encapsulated, since ipv4.pool is ipip, and with backend none Felix sets up no IP-in-IP"+onlyIPAM)
}

// ipv6 is about networks with IPv6, which Calico only routes.
func (w warner) ipv6(e *v1alpha1.NetworkConfig, in *plugin.Input) {
	if !hasIPv6(e) {
		return
	}
	native, silent := withoutOverlay, "leave backend, overlay, vxlan, ipv4.pool and ipv4.mode out"
	if in.Infrastructure.NoPodRoutes {
		native, silent = withOwnRoutes, withOwnRoutes
	}
	w.WarnIf(overlayOn(e) && usesHostLocal(e), "overlay.enabled", nativeIPv6+native)
	w.WarnIf(overlayOn(e) && !usesHostLocal(e), "overlay.enabled", nativeIPv6+"in a new network "+native)
	if hasIPv4(e) {
		w.WarnIf(overlayOn(e) && !e.VXLAN.Enabled, "overlay.enabled",
			"the IPv4 pool asks for IP-in-IP, which Felix does not set up in a network with IPv6, so IPv4 packets may not arrive; "+native)
		w.WarnIf(overlayOn(e) && !e.VXLAN.Enabled && poolIs(e, v1alpha1.PoolVXLAN), "ipv4.pool",
			"the address pool default-ipv4-ippool still says IP-in-IP, since overlay.enabled is true and vxlan.enabled is not")
		w.WarnIf(overlayOn(e) && *e.IPv4.Mode != v1alpha1.Always, "ipv4.mode",
			"the address pool default-ipv4-ippool still says Always, since overlay.enabled is true")
		w.WarnIf(overlayOff(e) && encapsulates(*e.IPv4.Mode) && !e.VXLAN.Enabled, "ipv4.mode",
			"the address pool default-ipv4-ippool still says Never, since overlay.enabled is false")
	}
	w.WarnIf(e.VXLAN.Enabled && !hasIPv4(e), "vxlan.enabled",
		"packets are still not encapsulated: VXLAN is for IPv4, which the network does not have")
	w.WarnIf(!usesHostLocal(e), "ipam.type",
		"calico-ipam, which VXLAN brings with it, gives pods IPv6 addresses without routes; in a new network "+silent)
}

// addresses is about the addresses of pods and nodes.
func (w warner) addresses(e *v1alpha1.NetworkConfig, in *plugin.Input) {
	w.WarnIf(hasIPv4(e) && podRangeIPv4(in) == "", "ipv4",
		"the pods' IPv4 range is not known, since the one that the Network states is of IPv6, and the Shoot's status.networking.pods has none; the address pool of IPv4 stays empty. State the IPv4 range where two families are wanted")
	w.WarnIf(hasIPv6(e) && podRangeIPv6(in) == "", "ipv6",
		"the pods' IPv6 range is not known yet, since the Shoot's status.networking.pods has none; pool default-ipv6-ippool stays empty until then")
	w.WarnIf(!usesHostLocal(e) && !hasKubeControllers(e) && !straysFromRoutes(e, in), "ipam.type",
		"with backend none there are no kube-controllers, so nothing collects addresses of calico-ipam that pods left behind; and routes that a cloud makes lead to the nodes' own ranges, which calico-ipam does not keep to")
	cidr := *e.IPAM.CIDR
	w.WarnIf(usesHostLocal(e) && !isNodesRange(cidr), "ipam.cidr",
		"every node gives its pods addresses of this one range, so two pods on different nodes can get the same; usePodCIDR gives each node its own")
	w.WarnIf(!usesHostLocal(e) && !isNodesRange(cidr), "ipam.cidr",
		"pods do not get addresses of this range: calico-ipam, which VXLAN brings with it, takes them from the address pool")
	w.WarnIf(usesHostLocal(e) && isOfOtherFamily(cidr, in), "ipam.cidr",
		"the network does not have the family of this range: pods get addresses without routes; usePodCIDR gives each node its own of the right family")
	w.WarnIf(usesHostLocal(e) && overlaps(cidr, in.ServiceCIDR), "ipam.cidr",
		"it overlaps with the Services' range: a pod with the address of a Service cannot be reached; usePodCIDR gives each node a range of its own")
	w.WarnIf(hasIPv4(e) && looksForFamily(e.IPv4.AutoDetectionMethod, netip.Addr.Is6), ipv4Method,
		"no node has an IPv4 address in an IPv6 range, so calico-node does not start; write a range of IPv4")
	w.WarnIf(hasIPv6(e) && looksForFamily(e.IPv6.AutoDetectionMethod, netip.Addr.Is4), ipv6Method,
		"no node has an IPv6 address in an IPv4 range, so calico-node does not start; write a range of IPv6")
	w.WarnIf(hasIPv4(e) && encapsulationOf(e) == unencapsulated && !in.Infrastructure.OwnNetwork, "overlay.enabled",
		"without overlay the network between the nodes sees pods' addresses, so if other clusters have nodes in it, their pod ranges must not overlap with this one's; give each a range of its own")
}

// helpers is about what stands beside calico-node or changes the node.
func (w warner) helpers(e *v1alpha1.NetworkConfig, in *plugin.Input) {
	w.WarnIf(e.BirdExporter.Enabled && !isPrivileged(e, in), "birdExporter.enabled",
		"the exporter does not run, since calico-node is unprivileged; only its Service exists")
	w.WarnIf(e.BirdExporter.Enabled && isPrivileged(e, in) && !hasBackend(e, v1alpha1.Bird), "birdExporter.enabled",
		"there is nothing to export, since BIRD only runs with backend bird")
	w.WarnIf(e.EBPFDataplane.Enabled && in.FeatureGates[nonPrivilegedGate], "ebpfDataplane.enabled",
		"calico-node is still privileged: eBPF takes precedence over the operator's feature gate "+nonPrivilegedGate)
	instead := "switch off NodeLocalDNS, or in a network of IPv4 only switch on the overlay"
	switch {
	case refusesOverlay(in):
		instead = "or switch off NodeLocalDNS"
	case in.Infrastructure.NoIPIP: // where it changes ipam.type
		instead = "switch off NodeLocalDNS, or in a network of IPv4 only leave the overlay on in a new network"
	}
	w.WarnIf(e.SnatToUpstreamDNS.Enabled && in.NodeLocalDNS, "snatToUpstreamDNS.enabled",
		"without overlay NetworkPolicies cannot block pods' DNS requests to the nodes' cache (NodeLocalDNS), whose rules come before Calico's; write false here, "+instead+
			"; for single pods, set dnsPolicy: Default, with which they do not use the cluster's DNS at all")
}

func isNodesRange(cidr string) bool {
	return strings.EqualFold(cidr, v1alpha1.UsePodCIDR) || cidr == v1alpha1.UsePodCIDRIPv6
}

func isOfOtherFamily(cidr string, in *plugin.Input) bool {
	prefix, err := netip.ParsePrefix(cidr)
	if err != nil {
		return false
	}
	family := extensionsv1alpha1.IPv4
	if prefix.Addr().Is6() {
		family = extensionsv1alpha1.IPv6
	}
	return !in.WantsIPFamily(family)
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
