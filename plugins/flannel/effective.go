// SPDX-License-Identifier: Apache-2.0

package flannel

import (
	"net/netip"
	"slices"

	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/plugins/flannel/v1alpha1"
)

// What an effective config means. Validation, changes and objects use these functions, so
// that they never disagree.

func encapsulates(c *v1alpha1.NetworkConfig) bool {
	return c.Backend != nil && c.Backend.Type != nil && *c.Backend.Type == v1alpha1.VXLAN
}

// seenOutside reports whether the network between the nodes sees addresses of pods.
func seenOutside(c *v1alpha1.NetworkConfig) bool {
	return !encapsulates(c) || isTrue(c.Backend.DirectRouting)
}

func hasFamily(c *v1alpha1.NetworkConfig, family v1alpha1.IPFamily) bool {
	return slices.Contains(c.IPFamilies, family)
}

// encapsulation is how many bytes of a packet flannel uses for VXLAN, of either IP family.
const encapsulation = 50

// podMTU is the MTU that pods get; 0 if each node finds out.
func podMTU(c *v1alpha1.NetworkConfig) int32 {
	switch {
	case c.MTU == nil:
		return 0
	case encapsulates(c):
		return *c.MTU - encapsulation
	default:
		return *c.MTU
	}
}

// familiesOf converts the families to deploy now.
func familiesOf(families []extensionsv1alpha1.IPFamily) []v1alpha1.IPFamily {
	if len(families) == 0 {
		return []v1alpha1.IPFamily{v1alpha1.IPv4}
	}
	var own []v1alpha1.IPFamily
	for _, family := range families {
		own = append(own, v1alpha1.IPFamily(family))
	}
	return own
}

// sameFamilies compares lists whose order does not matter.
func sameFamilies(one, other []v1alpha1.IPFamily) bool {
	one, other = slices.Sorted(slices.Values(one)), slices.Sorted(slices.Values(other))
	return slices.Equal(one, other)
}

// ofFamily has, for each IP family, a function that reports whether an address is of it.
var ofFamily = map[v1alpha1.IPFamily]func(netip.Addr) bool{v1alpha1.IPv4: netip.Addr.Is4, v1alpha1.IPv6: netip.Addr.Is6}

// podRange returns the pods' range of an IP family: the Network's, or the last one in the
// Shoot's status. It is empty if neither is known.
func podRange(in *plugin.Input, isOfFamily func(netip.Addr) bool) string {
	known := append(slices.Clone(in.PodCIDRs), in.PodCIDR)
	for _, cidr := range slices.Backward(known) {
		if prefix, err := netip.ParsePrefix(cidr); err == nil && isOfFamily(prefix.Addr()) {
			return cidr
		}
	}
	return ""
}

func isTrue(value *bool) bool { return value != nil && *value }
