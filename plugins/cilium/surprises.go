// SPDX-License-Identifier: Apache-2.0

package cilium

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/plugins/cilium/v1alpha1"
)

// surprise is a combination of values that are all in force and together do not
// do what one would think.
type surprise struct {
	path    string
	happens func(effective *v1alpha1.NetworkConfig, facts *plugin.Facts) bool
	message string
}

// surprises are all of them. Gardener's extension accepts these, so the result stays
// the same here, and the user is told.
var surprises = slices.Concat(routingSurprises, masqueradeSurprises, serviceSurprises, encryptionSurprises)

// routingSurprises are about how packets get from node to node.
var routingSurprises = []surprise{
	{"tunnel", func(e *v1alpha1.NetworkConfig, _ *plugin.Facts) bool {
		return !tunnels(e) && hasIPv4(e) && *e.EnableIPv4Masquerade && !*e.IPv4NativeRoutingCIDREnabled
	}, "agents do not start: without a tunnel they must know which range is not masqueraded; write overlay.enabled: false instead, or also ipv4NativeRoutingCIDREnabled: true"},

	{"enableIpv6Masquerade", func(e *v1alpha1.NetworkConfig, f *plugin.Facts) bool {
		return !tunnels(e) && hasIPv6(e) && *e.EnableIPv6Masquerade && (!*e.IPv6NativeRoutingCIDREnabled || podRangeIPv6(f) == "")
	}, "agents do not start: without a tunnel they must know which IPv6 range is not masqueraded; write overlay.enabled: false, and see that the Shoot's status.networking.pods has the range"},

	{"ipv4NativeRoutingCIDREnabled", func(e *v1alpha1.NetworkConfig, _ *plugin.Facts) bool {
		return tunnels(e) && *e.IPv4NativeRoutingCIDREnabled
	}, "packets between nodes are encapsulated all the same; write overlay.enabled: false for a network that the nodes' network routes"},

	{"ipv6NativeRoutingCIDREnabled", func(e *v1alpha1.NetworkConfig, _ *plugin.Facts) bool {
		return tunnels(e) && hasIPv6(e) && *e.IPv6NativeRoutingCIDREnabled
	}, "packets between nodes are encapsulated all the same; write overlay.enabled: false for a network that the nodes' network routes"},

	{"ipv6NativeRoutingCIDREnabled", func(e *v1alpha1.NetworkConfig, _ *plugin.Facts) bool {
		return !hasIPv6(e) && *e.IPv6NativeRoutingCIDREnabled
	}, "it has no effect as long as the network has no IPv6"},

	{"overlay.enabled", func(e *v1alpha1.NetworkConfig, f *plugin.Facts) bool {
		return !tunnels(e) && hasIPv4(e) && !f.Infrastructure.OwnNetwork
	}, "without overlay the network between the nodes sees pods' addresses, so if other clusters have nodes in it, their pod ranges must not overlap with this one's; give each a range of its own"},

	{"overlay.enabled", func(e *v1alpha1.NetworkConfig, f *plugin.Facts) bool {
		return overlayOff(e) && !createsPodRoutes(e) && ipamMode(f) == clusterPoolIPAM
	}, "cilium-operator gives nodes their pod ranges in this network, so routes that a cloud makes lead elsewhere; write overlay.createPodRoutes: true, or leave the overlay on"},
}

// masqueradeSurprises are about packets that leave the cluster.
var masqueradeSurprises = []surprise{
	{"enableBPFMasquerade", func(e *v1alpha1.NetworkConfig, _ *plugin.Facts) bool {
		return *e.EnableBPFMasquerade && !*e.EnableIPv4Masquerade && !*e.EnableIPv6Masquerade
	}, "agents do not start: there is nothing to masquerade; write false as well"},

	{"snatToUpstreamDNS.enabled", func(e *v1alpha1.NetworkConfig, _ *plugin.Facts) bool {
		return e.SnatToUpstreamDNS.Enabled && !hasIPv4(e)
	}, "it has no effect, since its rules are for IPv4, which the network does not have"},

	{"snatOutOfCluster.enabled", func(e *v1alpha1.NetworkConfig, _ *plugin.Facts) bool {
		return e.SnatOutOfCluster.Enabled && !hasIPv4(e)
	}, "it has no effect, since its rules are for IPv4, which the network does not have"},

	{"enableIpv6Masquerade", func(e *v1alpha1.NetworkConfig, _ *plugin.Facts) bool {
		return *e.EnableIPv6Masquerade && !hasIPv6(e)
	}, "it has no effect, since the network has no IPv6"},
}

// serviceSurprises are about traffic to Services.
var serviceSurprises = []surprise{
	{"loadBalancingMode", func(e *v1alpha1.NetworkConfig, f *plugin.Facts) bool {
		return *e.LoadBalancingMode != v1alpha1.SNAT && !replacesKubeProxy(f)
	}, "it has no effect, since kube-proxy passes on packets to Services; set spec.kubernetes.kubeProxy.enabled of the Shoot to false"},

	{"loadBalancingMode", func(e *v1alpha1.NetworkConfig, f *plugin.Facts) bool {
		return *e.LoadBalancingMode != v1alpha1.SNAT && replacesKubeProxy(f) && tunnels(e)
	}, "agents do not start: only snat works through a tunnel; write snat or overlay.enabled: false"},

	{"bpfSocketLBHostnsOnly.enabled", func(e *v1alpha1.NetworkConfig, f *plugin.Facts) bool {
		return e.BPFSocketLBHostnsOnly.Enabled && !replacesKubeProxy(f)
	}, "it has no effect, since Services' addresses are only translated in sockets where there is no kube-proxy"},

	{"l2Announcements.enabled", func(e *v1alpha1.NetworkConfig, f *plugin.Facts) bool {
		return e.L2Announcements.Enabled && !replacesKubeProxy(f)
	}, "nodes announce nothing, since they only do where there is no kube-proxy; set spec.kubernetes.kubeProxy.enabled of the Shoot to false"},

	{"l2Announcements.leaseDuration", func(e *v1alpha1.NetworkConfig, _ *plugin.Facts) bool {
		l2 := e.L2Announcements
		return l2.Enabled && l2.LeaseDuration.Duration <= l2.LeaseRenewDeadline.Duration
	}, "nodes announce nothing, since leaseDuration must be longer than leaseRenewDeadline"},

	{"l2Announcements.leaseRenewDeadline", func(e *v1alpha1.NetworkConfig, _ *plugin.Facts) bool {
		l2 := e.L2Announcements
		return l2.Enabled && float64(l2.LeaseRenewDeadline.Duration) <= retryJitter*float64(l2.LeaseRetryPeriod.Duration)
	}, "nodes announce nothing, since leaseRenewDeadline must be longer than 1.2 times leaseRetryPeriod"},

	{"l2Announcements.leaseRetryPeriod", func(e *v1alpha1.NetworkConfig, _ *plugin.Facts) bool {
		l2 := e.L2Announcements
		return l2.Enabled && l2.LeaseRetryPeriod.Duration <= 0
	}, "nodes announce nothing, since leaseRetryPeriod must be more than zero"},
}

// retryJitter is by how much Kubernetes' leases stretch the time between two tries.
const retryJitter = 1.2

// encryptionSurprises are about traffic that would be in the clear.
var encryptionSurprises = []surprise{
	{"encryption.mode", func(e *v1alpha1.NetworkConfig, _ *plugin.Facts) bool {
		return e.Encryption.Enabled && e.Encryption.Mode == ""
	}, "nothing is encrypted without a mode; write wireguard"},

	{"encryption.mode", func(e *v1alpha1.NetworkConfig, _ *plugin.Facts) bool {
		return e.Encryption.Enabled && e.Encryption.Mode != "" && !encryptsWithWireGuard(e)
	}, "nothing is encrypted, since there is no such mode; write wireguard"},

	{"encryption.strictMode", func(e *v1alpha1.NetworkConfig, _ *plugin.Facts) bool {
		return e.Encryption.StrictMode && isDualStack(e)
	}, "IPv6 packets may leave a node in the clear all the same: strict mode is for IPv4"},

	{"encryption.strictMode", func(e *v1alpha1.NetworkConfig, _ *plugin.Facts) bool {
		return e.Encryption.StrictMode && !hasIPv4(e)
	}, "agents do not start: strict mode is for IPv4, which the network does not have"},
}

func warnSurprises(found *plugin.Findings, effective *v1alpha1.NetworkConfig, facts *plugin.Facts, path *field.Path) {
	for _, s := range surprises {
		if s.happens(effective, facts) {
			found.Warn(at(path, s.path), s.message)
		}
	}
}

// at is the path of a dotted field beneath root.
func at(root *field.Path, dotted string) *field.Path {
	for _, name := range strings.Split(dotted, ".") {
		root = root.Child(name)
	}
	return root
}
