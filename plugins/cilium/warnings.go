// SPDX-License-Identifier: Apache-2.0

package cilium

import (
	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/plugins/cilium/v1alpha1"
)

// warner warns of combinations that do not work as users expect. Gardener's extension accepts
// them, so they are no errors.
type warner struct{ plugin.Warner }

// routing is about how packets get from node to node.
func (w warner) routing(e *v1alpha1.NetworkConfig, in *plugin.Input) {
	w.WarnIf(*e.MTU != 0 && mtuOfPods(e) < leastMTU(e), "mtu",
		"it leaves pods less than the 1280 bytes that IPv6 needs, or the 576 that IPv4 needs without it, once 50 are taken for a tunnel and 80 for WireGuard; write more, or leave it out")
	// Where nothing makes routes, users are told to have a tunnel, with which agents start.
	remains := !tunnels(e) && !(in.Infrastructure.NoPodRoutes && !createsPodRoutes(e))
	w.WarnIf(remains && hasIPv4(e) && *e.EnableIPv4Masquerade && !*e.IPv4NativeRoutingCIDREnabled, "tunnel",
		"agents do not start: without a tunnel they must know which range is not masqueraded; write overlay.enabled: false instead, or also ipv4NativeRoutingCIDREnabled: true")
	w.WarnIf(remains && hasIPv6(e) && *e.EnableIPv6Masquerade && (!*e.IPv6NativeRoutingCIDREnabled || podRangeIPv6(in) == ""), "enableIpv6Masquerade",
		"agents do not start: without a tunnel they must know which IPv6 range is not masqueraded; write overlay.enabled: false, and see that the Shoot's status.networking.pods has the range")
	w.WarnIf(tunnels(e) && *e.IPv4NativeRoutingCIDREnabled, "ipv4NativeRoutingCIDREnabled",
		"packets between nodes are still encapsulated; "+withoutTunnel(in)+" to have them travel as they are")
	w.WarnIf(tunnels(e) && hasIPv6(e) && *e.IPv6NativeRoutingCIDREnabled, "ipv6NativeRoutingCIDREnabled",
		"packets between nodes are still encapsulated; "+withoutTunnel(in)+" to have them travel as they are")
	w.WarnIf(!hasIPv6(e) && *e.IPv6NativeRoutingCIDREnabled && !routesMissingIPv6(e, in), "ipv6NativeRoutingCIDREnabled",
		"it has no effect as long as the network has no IPv6")
	w.WarnIf(!tunnels(e) && hasIPv4(e) && !in.Infrastructure.OwnNetwork, "overlay.enabled",
		"without overlay the network between the nodes sees pods' addresses, so if other clusters have nodes in it, their pod ranges must not overlap with this one's; give each a range of its own")
	w.WarnIf(overlayOff(e) && !createsPodRoutes(e) && ipamMode(in) == clusterPoolIPAM, "overlay.enabled",
		"cilium-operator gives nodes their pod ranges in this network, so routes that a cloud makes lead elsewhere; write overlay.createPodRoutes: true, or leave the overlay on")
}

// withoutTunnel tells users how packets travel as they are.
func withoutTunnel(in *plugin.Input) string {
	if in.Infrastructure.NoPodRoutes {
		return "where all nodes are in one layer 2 segment write overlay.enabled: false and overlay.createPodRoutes: true"
	}
	return "write overlay.enabled: false"
}

// masquerading is about packets that leave the cluster.
func (w warner) masquerading(e *v1alpha1.NetworkConfig) {
	w.WarnIf(*e.EnableBPFMasquerade && !*e.EnableIPv4Masquerade && !*e.EnableIPv6Masquerade, "enableBPFMasquerade",
		"agents do not start: there is nothing to masquerade; write false as well")
	w.WarnIf(e.SnatToUpstreamDNS.Enabled && !hasIPv4(e), "snatToUpstreamDNS.enabled",
		"it has no effect, since its rules are for IPv4, which the network does not have")
	w.WarnIf(e.SnatOutOfCluster.Enabled && !hasIPv4(e), "snatOutOfCluster.enabled",
		"it has no effect, since its rules are for IPv4, which the network does not have")
	w.WarnIf(*e.EnableIPv6Masquerade && !hasIPv6(e), "enableIpv6Masquerade",
		"it has no effect, since the network has no IPv6")
}

// services is about traffic to Services.
func (w warner) services(e *v1alpha1.NetworkConfig, in *plugin.Input) {
	l2 := e.L2Announcements
	const idle = "it has no effect, since kube-proxy passes on packets to Services; write snat"
	w.WarnIf(*e.LoadBalancingMode != v1alpha1.SNAT && !replacesKubeProxy(in) && tunnels(e), "loadBalancingMode", idle)
	w.WarnIf(*e.LoadBalancingMode != v1alpha1.SNAT && !replacesKubeProxy(in) && !tunnels(e), "loadBalancingMode",
		idle+", or set spec.kubernetes.kubeProxy.enabled of the Shoot to false")
	w.WarnIf(*e.LoadBalancingMode != v1alpha1.SNAT && replacesKubeProxy(in) && tunnels(e), "loadBalancingMode",
		"agents do not start: only snat works through a tunnel; write snat, or "+withoutTunnel(in))
	w.WarnIf(e.BPFSocketLBHostnsOnly.Enabled && !replacesKubeProxy(in), "bpfSocketLBHostnsOnly.enabled",
		"it has no effect, since Services' addresses are only translated in sockets where there is no kube-proxy")
	w.WarnIf(e.L2Announcements.Enabled && !replacesKubeProxy(in), "l2Announcements.enabled",
		"nodes announce nothing, since they only do where there is no kube-proxy; set spec.kubernetes.kubeProxy.enabled of the Shoot to false")
	w.WarnIf(l2.Enabled && l2.LeaseDuration.Duration <= l2.LeaseRenewDeadline.Duration, "l2Announcements.leaseDuration",
		"nodes announce nothing, since leaseDuration must be longer than leaseRenewDeadline")
	w.WarnIf(l2.Enabled && float64(l2.LeaseRenewDeadline.Duration) <= retryJitter*float64(l2.LeaseRetryPeriod.Duration), "l2Announcements.leaseRenewDeadline",
		"nodes announce nothing, since leaseRenewDeadline must be longer than 1.2 times leaseRetryPeriod")
	w.WarnIf(l2.Enabled && l2.LeaseRetryPeriod.Duration <= 0, "l2Announcements.leaseRetryPeriod",
		"nodes announce nothing, since leaseRetryPeriod must be more than zero")
}

// retryJitter is by how much Kubernetes' leases stretch the time between two tries.
const retryJitter = 1.2

// encryption is about traffic that would be in the clear.
func (w warner) encryption(e *v1alpha1.NetworkConfig) {
	w.WarnIf(e.Encryption.Enabled && e.Encryption.Mode == "", "encryption.mode",
		"nothing is encrypted without a mode; write wireguard")
	w.WarnIf(e.Encryption.Enabled && e.Encryption.Mode != "" && !encryptsWithWireGuard(e), "encryption.mode",
		"nothing is encrypted, since there is no such mode; write wireguard")
	w.WarnIf(e.Encryption.StrictMode && isDualStack(e), "encryption.strictMode",
		"IPv6 packets may still leave a node in the clear: strict mode is for IPv4")
	w.WarnIf(e.Encryption.StrictMode && !hasIPv4(e), "encryption.strictMode",
		"agents do not start: strict mode is for IPv4, which the network does not have")
}
