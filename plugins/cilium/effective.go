// SPDX-License-Identifier: Apache-2.0

package cilium

import (
	"cmp"
	"net/netip"
	"slices"
	"strconv"

	"k8s.io/utils/ptr"

	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/plugins/cilium/v1alpha1"
)

// What an effective config means. Defaults, warnings, changes and objects all call these
// functions, so that they never disagree.

// hasIPv4, hasIPv6 and isDualStack report which families the network has.
func hasIPv4(c *v1alpha1.NetworkConfig) bool     { return c.IPv4 != nil && c.IPv4.Enabled }
func hasIPv6(c *v1alpha1.NetworkConfig) bool     { return c.IPv6 != nil && c.IPv6.Enabled }
func isDualStack(c *v1alpha1.NetworkConfig) bool { return hasIPv4(c) && hasIPv6(c) }

// overlayOn, overlayOff and neither of them are the three states of overlay.
func overlayOn(c *v1alpha1.NetworkConfig) bool {
	return c.Overlay != nil && ptr.Deref(c.Overlay.Enabled, false)
}

func overlayOff(c *v1alpha1.NetworkConfig) bool { return c.Overlay != nil && !overlayOn(c) }

// tunnels reports whether packets between nodes are encapsulated.
func tunnels(c *v1alpha1.NetworkConfig) bool { return *c.TunnelMode != v1alpha1.Disabled }

// createsPodRoutes reports whether agents make the routes to other nodes' pods.
func createsPodRoutes(c *v1alpha1.NetworkConfig) bool {
	return overlayOff(c) && isTrue(c.Overlay.CreatePodRoutes)
}

// snatRules reports whether containers beside the agents add rules to iptables, for which
// masquerading must be done there.
func snatRules(c *v1alpha1.NetworkConfig) bool {
	return c.SnatToUpstreamDNS.Enabled || c.SnatOutOfCluster.Enabled
}

// knowsBPFMasquerade reports whether it is stated at all where packets are masqueraded.
// Otherwise it is iptables.
func knowsBPFMasquerade(c *v1alpha1.NetworkConfig) bool { return hasIPv4(c) && !snatRules(c) }

// replacesKubeProxy reports whether the agents implement Services.
func replacesKubeProxy(in *plugin.Input) bool { return !in.KubeProxy.Enabled }

// encryptsWithWireGuard reports whether traffic between nodes is encrypted.
func encryptsWithWireGuard(c *v1alpha1.NetworkConfig) bool {
	return c.Encryption.Enabled && c.Encryption.Mode == v1alpha1.WireGuard
}

// letsRemoteNodesInTheClear reports whether strict encryption makes an exception for what
// goes to other nodes themselves: within a tunnel that is how all packets look, and
// nodes in the pods' range cannot be told from pods.
func letsRemoteNodesInTheClear(c *v1alpha1.NetworkConfig, in *plugin.Input) bool {
	return tunnels(c) || overlayOff(c) && overlap(in.PodCIDR, in.NodeCIDR)
}

// What Cilium takes from packets between nodes.
const (
	tunnelOverhead    = 50
	wireGuardOverhead = 80
)

// mtuOfPods is what is left for packets between pods of the MTU that the user states.
func mtuOfPods(c *v1alpha1.NetworkConfig) int {
	left := *c.MTU
	if tunnels(c) {
		left -= tunnelOverhead
	}
	if encryptsWithWireGuard(c) {
		left -= wireGuardOverhead
	}
	return left
}

// leastMTU is the least that Linux and the protocols can do with.
func leastMTU(c *v1alpha1.NetworkConfig) int {
	if hasIPv6(c) {
		return 1280
	}
	return 576
}

func overlap(one, other string) bool {
	a, err := netip.ParsePrefix(one)
	if err != nil {
		return false
	}
	b, err := netip.ParsePrefix(other)
	return err == nil && a.Masked().Overlaps(b.Masked())
}

// podRangeIPv6 is the pods' IPv6 range: the first one that the Shoot's status reports,
// or else the Network's own. It is empty if neither is known.
func podRangeIPv6(in *plugin.Input) string {
	for _, cidr := range slices.Concat(in.PodCIDRs, []string{in.PodCIDR}) {
		if prefix, err := netip.ParsePrefix(cidr); err == nil && prefix.Addr().Is6() {
			return cidr
		}
	}
	return ""
}

func deploysIPv4(in *plugin.Input) bool {
	return len(in.IPFamilies) == 0 || in.HasIPFamily(extensionsv1alpha1.IPv4)
}

func deploysIPv6(in *plugin.Input) bool { return in.HasIPFamily(extensionsv1alpha1.IPv6) }

// operatorAPIServer is where cilium-operator finds the API server where no kube-proxy
// leads to it; empty where it finds it as every pod does. The port is only stated
// together with a host of the user's.
func operatorAPIServer(c *v1alpha1.NetworkConfig, in *plugin.Input) (host, port string) {
	switch {
	case !replacesKubeProxy(in):
		return "", ""
	case c.KubeProxy != nil:
		return *c.KubeProxy.ServiceHost, strconv.Itoa(int(*c.KubeProxy.ServicePort))
	case in.PodAccess != nil:
		return "", ""
	default:
		return in.APIServer.ExternalHost, ""
	}
}

// What gives pods their addresses.
const (
	// kubernetesIPAM takes them from the node's own pod range.
	kubernetesIPAM = "kubernetes"
	// clusterPoolIPAM takes them from a range that cilium-operator gives the node. Only
	// networks that were made long ago have it.
	clusterPoolIPAM = "cluster-pool"
)

// ipamMode stays what it was when the network was made: pods that run keep addresses
// that the other way would give to others.
func ipamMode(in *plugin.Input) string { return cmp.Or(in.IPAM, kubernetesIPAM) }

// isHighlyAvailable reports whether there are always nodes for two cilium-operators.
func isHighlyAvailable(in *plugin.Input) bool { return in.NodesAtLeast >= 2 }

func isTrue(value *bool) bool { return value != nil && *value }
