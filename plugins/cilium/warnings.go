// SPDX-License-Identifier: Apache-2.0

package cilium

import (
	"slices"

	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/plugins/cilium/v1alpha1"
)

// warnings are about combinations that do not work as users expect. Gardener's extension
// accepts them, so they are no errors.
var warnings = slices.Concat(routingWarnings, masqueradeWarnings, serviceWarnings, encryptionWarnings)

// routingWarnings are about how packets get from node to node.
var routingWarnings = plugin.Warnings[v1alpha1.NetworkConfig]{
	{Path: "mtu", If: func(e *v1alpha1.NetworkConfig, _ *plugin.Input) bool {
		return *e.MTU != 0 && mtuOfPods(e) < leastMTU(e)
	}, Message: "it leaves pods less than the 1280 bytes that IPv6 needs, or the 576 that IPv4 needs without it, once 50 are taken for a tunnel and 80 for WireGuard; write more, or leave it out"},

	{Path: "tunnel", If: func(e *v1alpha1.NetworkConfig, _ *plugin.Input) bool {
		return !tunnels(e) && hasIPv4(e) && *e.EnableIPv4Masquerade && !*e.IPv4NativeRoutingCIDREnabled
	}, Message: "agents do not start: without a tunnel they must know which range is not masqueraded; write overlay.enabled: false instead, or also ipv4NativeRoutingCIDREnabled: true"},

	{Path: "enableIpv6Masquerade", If: func(e *v1alpha1.NetworkConfig, f *plugin.Input) bool {
		return !tunnels(e) && hasIPv6(e) && *e.EnableIPv6Masquerade && (!*e.IPv6NativeRoutingCIDREnabled || podRangeIPv6(f) == "")
	}, Message: "agents do not start: without a tunnel they must know which IPv6 range is not masqueraded; write overlay.enabled: false, and see that the Shoot's status.networking.pods has the range"},

	{Path: "ipv4NativeRoutingCIDREnabled", If: func(e *v1alpha1.NetworkConfig, _ *plugin.Input) bool {
		return tunnels(e) && *e.IPv4NativeRoutingCIDREnabled
	}, Message: "packets between nodes are still encapsulated; write overlay.enabled: false for a network that the nodes' network routes"},

	{Path: "ipv6NativeRoutingCIDREnabled", If: func(e *v1alpha1.NetworkConfig, _ *plugin.Input) bool {
		return tunnels(e) && hasIPv6(e) && *e.IPv6NativeRoutingCIDREnabled
	}, Message: "packets between nodes are still encapsulated; write overlay.enabled: false for a network that the nodes' network routes"},

	{Path: "ipv6NativeRoutingCIDREnabled", If: func(e *v1alpha1.NetworkConfig, f *plugin.Input) bool {
		return !hasIPv6(e) && *e.IPv6NativeRoutingCIDREnabled && !routesMissingIPv6(e, f)
	}, Message: "it has no effect as long as the network has no IPv6"},

	{Path: "overlay.enabled", If: func(e *v1alpha1.NetworkConfig, f *plugin.Input) bool {
		return !tunnels(e) && hasIPv4(e) && !f.Infrastructure.OwnNetwork
	}, Message: "without overlay the network between the nodes sees pods' addresses, so if other clusters have nodes in it, their pod ranges must not overlap with this one's; give each a range of its own"},

	{Path: "overlay.enabled", If: func(e *v1alpha1.NetworkConfig, f *plugin.Input) bool {
		return overlayOff(e) && !createsPodRoutes(e) && ipamMode(f) == clusterPoolIPAM
	}, Message: "cilium-operator gives nodes their pod ranges in this network, so routes that a cloud makes lead elsewhere; write overlay.createPodRoutes: true, or leave the overlay on"},
}

// masqueradeWarnings are about packets that leave the cluster.
var masqueradeWarnings = plugin.Warnings[v1alpha1.NetworkConfig]{
	{Path: "enableBPFMasquerade", If: func(e *v1alpha1.NetworkConfig, _ *plugin.Input) bool {
		return *e.EnableBPFMasquerade && !*e.EnableIPv4Masquerade && !*e.EnableIPv6Masquerade
	}, Message: "agents do not start: there is nothing to masquerade; write false as well"},

	{Path: "snatToUpstreamDNS.enabled", If: func(e *v1alpha1.NetworkConfig, _ *plugin.Input) bool {
		return e.SnatToUpstreamDNS.Enabled && !hasIPv4(e)
	}, Message: "it has no effect, since its rules are for IPv4, which the network does not have"},

	{Path: "snatOutOfCluster.enabled", If: func(e *v1alpha1.NetworkConfig, _ *plugin.Input) bool {
		return e.SnatOutOfCluster.Enabled && !hasIPv4(e)
	}, Message: "it has no effect, since its rules are for IPv4, which the network does not have"},

	{Path: "enableIpv6Masquerade", If: func(e *v1alpha1.NetworkConfig, _ *plugin.Input) bool {
		return *e.EnableIPv6Masquerade && !hasIPv6(e)
	}, Message: "it has no effect, since the network has no IPv6"},
}

// serviceWarnings are about traffic to Services.
var serviceWarnings = plugin.Warnings[v1alpha1.NetworkConfig]{
	{Path: "loadBalancingMode", If: func(e *v1alpha1.NetworkConfig, f *plugin.Input) bool {
		return *e.LoadBalancingMode != v1alpha1.SNAT && !replacesKubeProxy(f)
	}, Message: "it has no effect, since kube-proxy passes on packets to Services; set spec.kubernetes.kubeProxy.enabled of the Shoot to false"},

	{Path: "loadBalancingMode", If: func(e *v1alpha1.NetworkConfig, f *plugin.Input) bool {
		return *e.LoadBalancingMode != v1alpha1.SNAT && replacesKubeProxy(f) && tunnels(e)
	}, Message: "agents do not start: only snat works through a tunnel; write snat or overlay.enabled: false"},

	{Path: "bpfSocketLBHostnsOnly.enabled", If: func(e *v1alpha1.NetworkConfig, f *plugin.Input) bool {
		return e.BPFSocketLBHostnsOnly.Enabled && !replacesKubeProxy(f)
	}, Message: "it has no effect, since Services' addresses are only translated in sockets where there is no kube-proxy"},

	{Path: "l2Announcements.enabled", If: func(e *v1alpha1.NetworkConfig, f *plugin.Input) bool {
		return e.L2Announcements.Enabled && !replacesKubeProxy(f)
	}, Message: "nodes announce nothing, since they only do where there is no kube-proxy; set spec.kubernetes.kubeProxy.enabled of the Shoot to false"},

	{Path: "l2Announcements.leaseDuration", If: func(e *v1alpha1.NetworkConfig, _ *plugin.Input) bool {
		l2 := e.L2Announcements
		return l2.Enabled && l2.LeaseDuration.Duration <= l2.LeaseRenewDeadline.Duration
	}, Message: "nodes announce nothing, since leaseDuration must be longer than leaseRenewDeadline"},

	{Path: "l2Announcements.leaseRenewDeadline", If: func(e *v1alpha1.NetworkConfig, _ *plugin.Input) bool {
		l2 := e.L2Announcements
		return l2.Enabled && float64(l2.LeaseRenewDeadline.Duration) <= retryJitter*float64(l2.LeaseRetryPeriod.Duration)
	}, Message: "nodes announce nothing, since leaseRenewDeadline must be longer than 1.2 times leaseRetryPeriod"},

	{Path: "l2Announcements.leaseRetryPeriod", If: func(e *v1alpha1.NetworkConfig, _ *plugin.Input) bool {
		l2 := e.L2Announcements
		return l2.Enabled && l2.LeaseRetryPeriod.Duration <= 0
	}, Message: "nodes announce nothing, since leaseRetryPeriod must be more than zero"},
}

// retryJitter is by how much Kubernetes' leases stretch the time between two tries.
const retryJitter = 1.2

// encryptionWarnings are about traffic that would be in the clear.
var encryptionWarnings = plugin.Warnings[v1alpha1.NetworkConfig]{
	{Path: "encryption.mode", If: func(e *v1alpha1.NetworkConfig, _ *plugin.Input) bool {
		return e.Encryption.Enabled && e.Encryption.Mode == ""
	}, Message: "nothing is encrypted without a mode; write wireguard"},

	{Path: "encryption.mode", If: func(e *v1alpha1.NetworkConfig, _ *plugin.Input) bool {
		return e.Encryption.Enabled && e.Encryption.Mode != "" && !encryptsWithWireGuard(e)
	}, Message: "nothing is encrypted, since there is no such mode; write wireguard"},

	{Path: "encryption.strictMode", If: func(e *v1alpha1.NetworkConfig, _ *plugin.Input) bool {
		return e.Encryption.StrictMode && isDualStack(e)
	}, Message: "IPv6 packets may still leave a node in the clear: strict mode is for IPv4"},

	{Path: "encryption.strictMode", If: func(e *v1alpha1.NetworkConfig, _ *plugin.Input) bool {
		return e.Encryption.StrictMode && !hasIPv4(e)
	}, Message: "agents do not start: strict mode is for IPv4, which the network does not have"},
}
