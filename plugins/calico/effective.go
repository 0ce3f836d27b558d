// SPDX-License-Identifier: Apache-2.0

package calico

import (
	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/plugins/calico/v1alpha1"
)

// What an effective config means. Defaults, warnings, changes and objects all ask
// here, so that they never disagree.

// overlayOn, overlayOff and neither of them are the three states of overlay.
func overlayOn(c *v1alpha1.NetworkConfig) bool  { return c.Overlay != nil && c.Overlay.Enabled }
func overlayOff(c *v1alpha1.NetworkConfig) bool { return c.Overlay != nil && !c.Overlay.Enabled }

func vxlanOverlay(c *v1alpha1.NetworkConfig) bool { return overlayOn(c) && c.VXLAN.Enabled }

func hasBackend(c *v1alpha1.NetworkConfig, backend v1alpha1.Backend) bool {
	return *c.Backend == backend
}

func usesHostLocal(c *v1alpha1.NetworkConfig) bool { return c.IPAM.Type == v1alpha1.HostLocal }

// hasKubeControllers says whether Calico's controllers run. Without routes of
// Calico's own there is nothing for them to do.
func hasKubeControllers(c *v1alpha1.NetworkConfig) bool { return !hasBackend(c, v1alpha1.None) }

// felixUsesIPIP says whether Felix sets up IP-in-IP tunnels; it does not go by
// the mode of a pool.
func felixUsesIPIP(c *v1alpha1.NetworkConfig) bool {
	return !vxlanOverlay(c) && !overlayOff(c) && !hasBackend(c, v1alpha1.None)
}

// nonPrivilegedGate is the operator's switch for a calico-node with few rights.
const nonPrivilegedGate = "NonPrivilegedCalicoNode"

// isPrivileged says whether calico-node is. eBPF programs cannot be loaded
// otherwise.
func isPrivileged(c *v1alpha1.NetworkConfig, facts *plugin.Facts) bool {
	return !facts.FeatureGates[nonPrivilegedGate] || c.EBPFDataplane.Enabled
}

// encapsulation is how packets of pods travel from node to node.
type encapsulation string

const (
	unencapsulated encapsulation = "unencapsulated"
	ipip           encapsulation = "IP-in-IP"
	vxlan          encapsulation = "VXLAN"
)

func encapsulationOf(c *v1alpha1.NetworkConfig) encapsulation {
	never := *c.IPv4.Mode == v1alpha1.Never || *c.IPv4.Mode == v1alpha1.Off
	switch {
	case vxlanOverlay(c):
		return vxlan
	case overlayOn(c):
		return ipip
	case overlayOff(c) || never:
		return unencapsulated
	case *c.IPv4.Pool == v1alpha1.PoolVXLAN:
		return vxlan
	case hasBackend(c, v1alpha1.None):
		return unencapsulated
	default:
		return ipip
	}
}
