// SPDX-License-Identifier: Apache-2.0

package calico

import (
	"k8s.io/utils/ptr"

	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/plugins/calico/v1alpha1"
)

// What an effective config means. Defaults, warnings, changes and objects use these
// functions, so that they never disagree.

// hasIPv4, hasIPv6 and isDualStack report which families the network has. A family that it
// does not have has no block.
func hasIPv4(c *v1alpha1.NetworkConfig) bool     { return c.IPv4 != nil }
func hasIPv6(c *v1alpha1.NetworkConfig) bool     { return c.IPv6 != nil }
func isDualStack(c *v1alpha1.NetworkConfig) bool { return hasIPv4(c) && hasIPv6(c) }
func onlyIPv6(c *v1alpha1.NetworkConfig) bool    { return !hasIPv4(c) && hasIPv6(c) }

// overlayOn, overlayOff and neither of them are the three states of overlay.
func overlayOn(c *v1alpha1.NetworkConfig) bool {
	return c.Overlay != nil && ptr.Deref(c.Overlay.Enabled, false)
}

func overlayOff(c *v1alpha1.NetworkConfig) bool { return c.Overlay != nil && !overlayOn(c) }

func vxlanOverlay(c *v1alpha1.NetworkConfig) bool { return overlayOn(c) && c.VXLAN.Enabled }

func hasBackend(c *v1alpha1.NetworkConfig, backend v1alpha1.Backend) bool {
	return *c.Backend == backend
}

func usesHostLocal(c *v1alpha1.NetworkConfig) bool { return c.IPAM.Type == v1alpha1.HostLocal }

// hasKubeControllers reports whether Calico's controllers run. They have nothing to do
// where Calico makes no routes.
func hasKubeControllers(c *v1alpha1.NetworkConfig) bool { return !hasBackend(c, v1alpha1.None) }

// ensuresCondition reports whether a container on each node takes back the condition
// NetworkUnavailable=True that a former pod of calico-node left there. With backend none the
// condition belongs to the route controller of the cloud, so there is no container where the
// cloud has one, nor in a landscape, which may.
func ensuresCondition(c *v1alpha1.NetworkConfig, in *plugin.Input) bool {
	return !hasBackend(c, v1alpha1.None) || in.PodAccess != nil && !in.Infrastructure.PodRoutes
}

// felixUsesIPIP reports whether Felix sets up IP-in-IP tunnels, whatever the mode of a pool.
// There are none in a network with IPv6.
func felixUsesIPIP(c *v1alpha1.NetworkConfig) bool {
	return !hasIPv6(c) && !vxlanOverlay(c) && !overlayOff(c) && !hasBackend(c, v1alpha1.None)
}

// nonPrivilegedGate is the operator's switch for a calico-node with few rights.
const nonPrivilegedGate = "NonPrivilegedCalicoNode"

// isPrivileged reports whether calico-node is privileged, which it must be to load eBPF
// programs.
func isPrivileged(c *v1alpha1.NetworkConfig, in *plugin.Input) bool {
	return !in.FeatureGates[nonPrivilegedGate] || c.EBPFDataplane.Enabled
}

// poolIs reports whether the IPv4 pool that calico-node makes is of this kind.
func poolIs(c *v1alpha1.NetworkConfig, pool v1alpha1.Pool) bool {
	return hasIPv4(c) && *c.IPv4.Pool == pool
}

// encapsulation is how packets of pods travel from node to node.
type encapsulation string

const (
	unencapsulated encapsulation = "unencapsulated"
	ipip           encapsulation = "IP-in-IP"
	vxlan          encapsulation = "VXLAN"
)

// encapsulationOf returns the encapsulation of IPv4 packets. IPv6 packets have none. Felix sets
// VXLAN up for an address pool that asks for it, whatever the backend (Calico's
// felix/calc/encapsulation_resolver.go).
func encapsulationOf(c *v1alpha1.NetworkConfig) encapsulation {
	switch {
	case !hasIPv4(c):
		return unencapsulated
	case vxlanOverlay(c):
		return vxlan
	case overlayOn(c):
		return ipip
	case overlayOff(c) || !encapsulates(*c.IPv4.Mode):
		return unencapsulated
	case poolIs(c, v1alpha1.PoolVXLAN):
		return vxlan
	case hasBackend(c, v1alpha1.None):
		return unencapsulated
	default:
		return ipip
	}
}

func encapsulates(mode v1alpha1.PoolMode) bool {
	return mode != v1alpha1.Never && mode != v1alpha1.Off
}
