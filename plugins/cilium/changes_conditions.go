// SPDX-License-Identifier: Apache-2.0

package cilium

import (
	"slices"
	"strings"

	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/plugins/cilium/v1alpha1"
)

func sameEncapsulation(c change) bool {
	return encapsulationOf(c.Before.Config) == encapsulationOf(c.After.Config)
}

// encapsulationOf returns nothing for a config of another release that lacks the value.
func encapsulationOf(c *v1alpha1.NetworkConfig) v1alpha1.TunnelMode {
	if c.TunnelMode == nil {
		return ""
	}
	return *c.TunnelMode
}

// losesDevice takes no device for all that Cilium finds.
func losesDevice(c change) bool {
	before, after := c.Before.Config.Devices, c.After.Config.Devices
	stays := func(device string) bool {
		return slices.ContainsFunc(after, func(name string) bool { return includes(name, device) })
	}
	gone := slices.ContainsFunc(before, func(device string) bool { return !stays(device) })
	return len(after) > 0 && (len(before) == 0 || gone)
}

// includes reports whether a name stands for all interfaces that the other one stands for:
// a + at its end matches any ending.
func includes(name, other string) bool {
	beginning, isPattern := strings.CutSuffix(name, "+")
	return name == other || isPattern && strings.HasPrefix(other, beginning)
}

// announces reports whether nodes answer for addresses of Services.
func announces(s plugin.State[v1alpha1.NetworkConfig]) bool {
	l2 := s.Config.L2Announcements
	return l2 != nil && l2.Enabled && replacesKubeProxy(s.Input)
}

func masquerades(c *v1alpha1.NetworkConfig) bool {
	return isTrue(c.EnableIPv4Masquerade) || isTrue(c.EnableIPv6Masquerade)
}

func masqueradesOutside(c *v1alpha1.NetworkConfig) bool {
	return c.SnatOutOfCluster != nil && c.SnatOutOfCluster.Enabled
}

func routesIPv6(c *v1alpha1.NetworkConfig) bool { return isTrue(c.IPv6NativeRoutingCIDREnabled) }

func isEncrypted(c *v1alpha1.NetworkConfig) bool {
	return c.Encryption != nil && encryptsWithWireGuard(c)
}

func isStrict(c *v1alpha1.NetworkConfig) bool { return isEncrypted(c) && c.Encryption.StrictMode }
