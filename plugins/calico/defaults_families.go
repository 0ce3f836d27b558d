// SPDX-License-Identifier: Apache-2.0

package calico

import (
	"net/netip"
	"strings"

	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/plugins/calico/v1alpha1"
)

// What is in force for each IP family. A family that the network does not have has no
// block in the effective config. Other code relies on that.

// Paths of how nodes find their addresses.
const (
	ipv4Method = "ipv4.autoDetectionMethod"
	ipv6Method = "ipv6.autoDetectionMethod"
)

func deploysIPv4(in *plugin.Input) bool {
	return len(in.IPFamilies) == 0 || in.HasIPFamily(extensionsv1alpha1.IPv4)
}

func deploysIPv6(in *plugin.Input) bool { return in.HasIPFamily(extensionsv1alpha1.IPv6) }

// families gives each family of the network its block.
func (d *defaulting) families() {
	if deploysIPv4(d.in) {
		plugin.OrDefault(&d.config.IPv4, v1alpha1.IPv4{})
	} else {
		d.config.IPv4 = nil
		d.origins.Rule("ipv4", "the network has no IPv4")
	}
	if deploysIPv6(d.in) {
		plugin.OrDefault(&d.config.IPv6, v1alpha1.IPv6{})
	} else {
		d.config.IPv6 = nil
		d.origins.Rule("ipv6", "the network has no IPv6")
	}
}

func (d *defaulting) ipv4() {
	if d.config.IPv4 == nil {
		return
	}
	d.ipv4Pool()
	d.ipv4Mode()
	d.autoDetection(&d.config.IPv4.AutoDetectionMethod, ipv4Method, netip.Addr.Is4)
}

func (d *defaulting) ipv4Pool() {
	pool := &d.config.IPv4.Pool
	switch {
	case vxlanOverlay(d.config):
		*pool = new(v1alpha1.PoolVXLAN)
		d.origins.Rule("ipv4.pool", "overlay.enabled and vxlan.enabled are true")
	case *pool == nil && d.config.VXLAN.Enabled:
		*pool = new(v1alpha1.PoolVXLAN)
		d.origins.Rule("ipv4.pool", "vxlan.enabled is true")
	default:
		plugin.OrDefault(pool, v1alpha1.PoolIPIP)
	}
}

// ipv4Mode lets overlay decide the mode, except in dual-stack: there overlay decides the mode
// of IPv6 only, and the user's mode of IPv4 stays.
func (d *defaulting) ipv4Mode() {
	mode, alone := &d.config.IPv4.Mode, d.config.IPv6 == nil
	set := func(value v1alpha1.PoolMode, reason string) {
		*mode = new(value)
		d.origins.Rule("ipv4.mode", reason)
	}
	switch {
	case alone && overlayOn(d.config):
		set(v1alpha1.Always, "overlay.enabled is true")
	case alone && overlayOff(d.config):
		set(v1alpha1.Never, "overlay.enabled is false")
	case *mode != nil:
	case d.config.VXLAN.Enabled:
		set(v1alpha1.Always, "vxlan.enabled is true")
	case overlayOff(d.config):
		set(v1alpha1.Never, "overlay.enabled is false")
	case hasBackend(d.config, v1alpha1.None):
		set(v1alpha1.Never, "the backend is none")
	default:
		*mode = new(v1alpha1.Always)
	}
}

// ipv6 sets the values of the IPv6 address pool. The pool itself never encapsulates,
// whatever the mode is.
func (d *defaulting) ipv6() {
	if d.config.IPv6 == nil {
		return
	}
	ipv6 := d.config.IPv6
	plugin.OrDefault(&ipv6.Pool, v1alpha1.IPv6PoolVXLAN)
	switch {
	case overlayOn(d.config):
		ipv6.Mode = new(v1alpha1.Always)
		d.origins.Rule("ipv6.mode", "overlay.enabled is true")
	default:
		ipv6.Mode = new(v1alpha1.Never)
		d.origins.Rule("ipv6.mode", "overlay.enabled is not true")
	}
	if ipv6.SourceNATEnabled == nil && *d.config.WireguardEncryption {
		ipv6.SourceNATEnabled = new(true)
		d.origins.Rule("ipv6.sourceNATEnabled", "wireguardEncryption is true")
	}
	plugin.OrDefault(&ipv6.SourceNATEnabled, false)
	d.autoDetection(&ipv6.AutoDetectionMethod, ipv6Method, netip.Addr.Is6)
}

// autoDetection lets nodes find their address in the Shoot's range of nodes. The ranges in
// the Shoot's status take precedence over the range in its spec, which is for IPv4 only.
func (d *defaulting) autoDetection(method **string, path string, isOfFamily func(netip.Addr) bool) {
	if *method != nil && **method == "" {
		*method = nil
	}
	switch {
	case d.in.NodeCIDR == "":
	case len(d.in.NodeCIDRs) > 0:
		d.origins.Rule(path, "the Shoot's status reports its nodes' ranges")
		*method = inRanges(rangesOf(d.in.NodeCIDRs, isOfFamily))
	default:
		inSpec := rangesOf([]string{d.in.NodeCIDR}, netip.Addr.Is4)
		if path == ipv4Method && len(inSpec) > 0 {
			d.origins.Rule(path, "the Shoot states its nodes' range")
			*method = inRanges(inSpec)
		}
	}
}

// inRanges returns the method that looks for an address in ranges; nil if there are no
// ranges.
func inRanges(ranges []string) *string {
	if len(ranges) == 0 {
		return nil
	}
	return new("cidr=" + strings.Join(ranges, ","))
}

// rangesOf returns the ranges of one family.
func rangesOf(cidrs []string, isOfFamily func(netip.Addr) bool) []string {
	var ranges []string
	for _, cidr := range cidrs {
		if prefix, err := netip.ParsePrefix(cidr); err == nil && isOfFamily(prefix.Addr()) {
			ranges = append(ranges, cidr)
		}
	}
	return ranges
}

func isIPv6Range(cidr string) bool { return len(rangesOf([]string{cidr}, netip.Addr.Is6)) > 0 }

// podRangeIPv4 returns the pods' IPv4 range: the Network's own, or, if that is one of IPv6,
// the first one in the Shoot's status. It is empty if neither is known.
func podRangeIPv4(in *plugin.Input) string {
	if ranges := rangesOf(append([]string{in.PodCIDR}, in.PodCIDRs...), netip.Addr.Is4); len(ranges) > 0 {
		return ranges[0]
	}
	return ""
}

// podRangeIPv6 returns the pods' IPv6 range: the last one in the Shoot's status, or the
// Network's own. It is empty if neither is known.
func podRangeIPv6(in *plugin.Input) string {
	if ranges := rangesOf(in.PodCIDRs, netip.Addr.Is6); len(ranges) > 0 {
		return ranges[len(ranges)-1]
	}
	return strings.Join(rangesOf([]string{in.PodCIDR}, netip.Addr.Is6), "")
}
