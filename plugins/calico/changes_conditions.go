// SPDX-License-Identifier: Apache-2.0

package calico

import (
	"strings"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/plugins/calico/v1alpha1"
)

func sameRange(c change) bool {
	return strings.EqualFold(rangeOf(c.Before.Config), rangeOf(c.After.Config))
}

func rangeOf(c *v1alpha1.NetworkConfig) string {
	if c.IPAM == nil || c.IPAM.CIDR == nil {
		return v1alpha1.UsePodCIDR
	}
	return *c.IPAM.CIDR
}

func takesRange(c *v1alpha1.NetworkConfig) bool {
	return c.IPAM == nil || c.IPAM.Type != v1alpha1.CalicoIPAM
}

func hasOverlayAfter(c change) bool { return c.After.Config.Overlay != nil }

func overlayComes(c change) bool { return c.Before.Config.Overlay == nil && hasIPv4(c.Before.Config) }

// overlayGoes reports whether the overlay is switched off, or another one becomes absent.
func overlayGoes(before, after *v1alpha1.NetworkConfig) bool {
	return overlayOn(before) && !overlayOn(after) || overlayOff(after) && !overlayOff(before)
}

func vxlanGoes(c change) bool { return isOn(c.Before.Config.VXLAN) && !isOn(c.After.Config.VXLAN) }

func isOn(vxlan *v1alpha1.VXLAN) bool { return vxlan != nil && vxlan.Enabled }

func getsIPv6(c change) bool { return !hasIPv6(c.Before.Config) && hasIPv6(c.After.Config) }

// losesIPIP reports whether IPv4 packets travel through IP-in-IP tunnels that Felix does
// not set up beside IPv6.
func losesIPIP(before *v1alpha1.NetworkConfig) bool {
	return !isComplete(before) || felixUsesIPIP(before) && encapsulationOf(before) == ipip
}

func masquerades(c *v1alpha1.NetworkConfig) bool {
	return hasIPv6(c) && c.IPv6.SourceNATEnabled != nil && *c.IPv6.SourceNATEnabled
}

// onlyCrossSubnet reports whether packets within a subnet are not encapsulated. With
// overlay all packets are.
func onlyCrossSubnet(c *v1alpha1.NetworkConfig) bool {
	return c.Overlay == nil && c.IPv4 != nil && c.IPv4.Mode != nil && *c.IPv4.Mode == v1alpha1.CrossSubnet
}

// usesBIRD accepts a config of another release that lacks a backend.
func usesBIRD(c *v1alpha1.NetworkConfig) bool {
	return c.Backend != nil && hasBackend(c, v1alpha1.Bird)
}

func createsPodRoutes(c *v1alpha1.NetworkConfig) bool {
	return overlayOff(c) && c.Overlay.CreatePodRoutes != nil && *c.Overlay.CreatePodRoutes
}

// encapsulationChanges reports a change for a config of another release that lacks a value.
func encapsulationChanges(c change) bool {
	before, after := c.Before.Config, c.After.Config
	return !isComplete(before) || !isComplete(after) || encapsulationOf(before) != encapsulationOf(after)
}

func isComplete(c *v1alpha1.NetworkConfig) bool {
	if c.Backend == nil || c.VXLAN == nil {
		return false
	}
	return c.IPv4 == nil && hasIPv6(c) || c.IPv4 != nil && c.IPv4.Mode != nil && c.IPv4.Pool != nil
}

// exports reports whether the exporter of BIRD's metrics runs.
func exports(s plugin.State[v1alpha1.NetworkConfig]) bool {
	privileged := usesEBPF(s.Config) || !s.FeatureGates[nonPrivilegedGate]
	return privileged && s.Config.BirdExporter != nil && s.Config.BirdExporter.Enabled
}

func usesEBPF(c *v1alpha1.NetworkConfig) bool {
	return c.EBPFDataplane != nil && c.EBPFDataplane.Enabled
}

// usesNFTables reports whether Felix writes its rules into nftables, as kube-proxy does.
func usesNFTables(in *plugin.Input) bool {
	return in.KubeProxy.Enabled && in.KubeProxy.Mode == corev1beta1.ProxyModeNFTables
}

// unmasqueradedRanges returns the ranges of pool no-snat-for-node-cidr before and after, and
// whether they change by themselves and not with the overlay.
func unmasqueradedRanges(c change) (was, is string, changes bool) {
	was, is = unmasqueraded(c.Before.Config, c.Before.Input), unmasqueraded(c.After.Config, c.After.Input)
	return was, is, was != is && overlayOff(c.Before.Config) == overlayOff(c.After.Config)
}
