// SPDX-License-Identifier: Apache-2.0

package cilium

import (
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/plugins/cilium/v1alpha1"
)

// The reason why Default sets ipv4.enabled and ipv6.enabled, whatever the user wrote.
const familiesDecide = "the network's IP families decide"

// routingFields are about the IP families, and how packets get from node to node.
var routingFields = []configField{
	{
		path: "ipv4.enabled",
		setDefault: func(d *defaulting) {
			d.config.IPv4 = &v1alpha1.IPv4{Enabled: deploysIPv4(d.in)}
			d.origins.Rule("ipv4.enabled", familiesDecide)
		},
		configure: func(c ciliumConfig, s settings) {
			s["enable-ipv4"], s["operator-api-serve-addr"] = boolean(hasIPv4(c.config)), "127.0.0.1:9234"
			s.setIf(!hasIPv4(c.config), "operator-api-serve-addr", "[::1]:9234")
		},
		changes: []rule{
			{Class: plugin.Disruptive, When: "if the network loses IPv4", If: func(c change) bool {
				return hasIPv4(c.Before.Config) && !hasIPv4(c.After.Config)
			}, Reason: familyGoes},
			{Class: plugin.Rolling, Reason: restarts},
		},
	},
	{
		path: "ipv6.enabled",
		setDefault: func(d *defaulting) {
			d.config.IPv6 = &v1alpha1.IPv6{Enabled: deploysIPv6(d.in)}
			d.origins.Rule("ipv6.enabled", familiesDecide)
		},
		configure: func(c ciliumConfig, s settings) { s["enable-ipv6"] = boolean(hasIPv6(c.config)) },
		changes: []rule{
			{Class: plugin.Disruptive, When: "if the network loses IPv6", If: func(c change) bool {
				return hasIPv6(c.Before.Config) && !hasIPv6(c.After.Config)
			}, Reason: familyGoes},
			{Class: plugin.Rolling, When: "if the network gets IPv6", If: func(c change) bool { return hasIPv6(c.After.Config) },
				Reason: restarts + "; pods that start from then on get an IPv6 address as well"},
			{Class: plugin.Rolling, Reason: restarts},
		},
	},
	{
		path: "overlay.enabled", // decides about tunnel and native routing
		setDefault: func(d *defaulting) {
			if d.config.Overlay != nil {
				plugin.OrDefault(&d.config.Overlay.Enabled, false)
			}
		},
		changes: append([]rule{{Class: plugin.Safe, When: "if packets travel as before, without strict encryption", If: func(c change) bool {
			before, after := c.Before.Config, c.After.Config // strict mode goes by the value itself
			same := overlayOff(before) == overlayOff(after) || !isStrict(before) && !isStrict(after)
			return same && encapsulationOf(before) == encapsulationOf(after)
		}, Reason: "the value only becomes explicit, or ceases to be so: packets between nodes travel as before"}}, encapsulationRules...),
	},
	{
		path:       "overlay.createPodRoutes",
		setDefault: defaultPodRoutes,
		configure:  func(c ciliumConfig, s settings) { s["auto-direct-node-routes"] = boolean(createsPodRoutes(c.config)) },
		changes: []rule{
			{Class: plugin.Safe, When: "if the value only becomes explicit, or ceases to be so", If: func(c change) bool {
				return createsPodRoutes(c.Before.Config) == createsPodRoutes(c.After.Config)
			}, Reason: "the value only became explicit or ceased to be so"},
			{Class: plugin.Disruptive, Reason: "another component creates the routes between nodes, and removes the old routes before all new ones exist"},
		},
	},
	{
		path: "tunnel",
		validate: func(written *v1alpha1.NetworkConfig, found *plugin.Findings, path *field.Path) {
			plugin.OneOf(found, path, written.TunnelMode, v1alpha1.VXLAN, v1alpha1.Geneve, v1alpha1.Disabled)
		},
		setDefault: defaultTunnel,
		configure: func(c ciliumConfig, s settings) {
			s["routing-mode"] = "native"
			if tunnels(c.config) {
				s["routing-mode"], s["tunnel-protocol"] = "tunnel", string(*c.config.TunnelMode)
			}
		},
		changes: encapsulationRules,
	},
	{
		path: "ipv4NativeRoutingCIDREnabled",
		setDefault: func(d *defaulting) {
			defaultNativeRouting(d, &d.config.IPv4NativeRoutingCIDREnabled, "ipv4NativeRoutingCIDREnabled", hasIPv4(d.config))
			if !hasIPv4(d.config) {
				d.config.IPv4NativeRoutingCIDREnabled = new(false)
				d.origins.Rule("ipv4NativeRoutingCIDREnabled", "the network has no IPv4")
			}
		},
		configure: func(c ciliumConfig, s settings) {
			s.setIf(*c.config.IPv4NativeRoutingCIDREnabled, "ipv4-native-routing-cidr", c.in.PodCIDR)
		},
		changes: nativeRoutingRules,
	},
	{
		path: "ipv6NativeRoutingCIDREnabled", // validateNativeRouting has what it needs
		setDefault: func(d *defaulting) {
			defaultNativeRouting(d, &d.config.IPv6NativeRoutingCIDREnabled, "ipv6NativeRoutingCIDREnabled", hasIPv6(d.config))
		},
		configure: func(c ciliumConfig, s settings) {
			range6 := podRangeIPv6(c.in)
			s.setIf(range6 != "" && *c.config.IPv6NativeRoutingCIDREnabled, "ipv6-native-routing-cidr", range6)
		},
		changes: nativeRoutingRules,
	},
	{
		path: "mtu",
		validate: func(written *v1alpha1.NetworkConfig, found *plugin.Findings, path *field.Path) {
			if mtu := written.MTU; mtu != nil && (*mtu < 0 || *mtu > longestPacket) {
				found.Error(field.Invalid(path, *mtu, "must be from 0 to 65535; leave it out, or write 0, to let Cilium find out"))
			}
		},
		setDefault: func(d *defaulting) { plugin.OrDefault(&d.config.MTU, 0) },
		configure:  func(c ciliumConfig, s settings) { s.setIf(*c.config.MTU != 0, "mtu", strconv.Itoa(*c.config.MTU)) },
		changes:    []rule{{Class: plugin.Rolling, Reason: restarts + "; running pods may keep their MTU until they restart"}},
	},
	{
		path: "devices",
		validate: func(written *v1alpha1.NetworkConfig, found *plugin.Findings, path *field.Path) {
			for i, device := range written.Devices {
				validateDevice(found, path.Index(i), device)
			}
		},
		configure: func(c ciliumConfig, s settings) {
			s.setIf(len(c.config.Devices) > 0, "devices", strings.Join(c.config.Devices, " "))
		},
		changes: []rule{
			{Class: plugin.Disruptive, When: "if an interface may cease to be handled", If: losesDevice,
				Reason: "traffic of Services that enters through an interface that is no longer listed is not handled"},
			{Class: plugin.Rolling, Reason: restarts + "; no interface ceases to be handled"},
		},
	},
	{
		path: "directRoutingDevice",
		validate: func(written *v1alpha1.NetworkConfig, found *plugin.Findings, path *field.Path) {
			if device := written.DirectRoutingDevice; device != nil {
				validateDevice(found, path, *device)
			}
		},
		configure: func(c ciliumConfig, s settings) {
			if device := c.config.DirectRoutingDevice; device != nil {
				s["direct-routing-device"] = *device
			}
		},
		changes: []rule{
			{Class: plugin.Disruptive, Reason: "nodes forward packets to Services through another interface, and open connections break"},
		},
	},
}

func defaultPodRoutes(d *defaulting) {
	if d.config.Overlay == nil {
		return
	}
	plugin.OrDefault(&d.config.Overlay.CreatePodRoutes, false)
	if overlayOn(d.config) {
		*d.config.Overlay.CreatePodRoutes = false
		d.origins.Rule("overlay.createPodRoutes", "overlay.enabled is true, and an overlay needs no such routes")
	}
}

func defaultTunnel(d *defaulting) {
	mode := &d.config.TunnelMode
	switch {
	case overlayOff(d.config):
		*mode = new(v1alpha1.Disabled)
		d.origins.Rule("tunnel", "overlay.enabled is false")
	case overlayOn(d.config) && *mode != nil && **mode == v1alpha1.Disabled:
		*mode = new(v1alpha1.VXLAN)
		d.origins.Rule("tunnel", "overlay.enabled is true")
	default:
		plugin.OrDefault(mode, v1alpha1.VXLAN)
	}
}

// defaultNativeRouting lets overlay decide for a family of the network whether the pods' range
// is routed.
func defaultNativeRouting(d *defaulting, enabled **bool, path string, hasFamily bool) {
	switch {
	case hasFamily && overlayOn(d.config):
		*enabled = new(false)
		d.origins.Rule(path, "overlay.enabled is true")
	case hasFamily && overlayOff(d.config):
		*enabled = new(true)
		d.origins.Rule(path, "overlay.enabled is false")
	default:
		plugin.OrDefault(enabled, false)
	}
}

var encapsulationRules = []rule{
	{Class: plugin.Rolling, When: "if packets travel as before", If: sameEncapsulation, Reason: travelsAsBefore},
	{Class: plugin.Disruptive, Reason: travelsOtherwise},
}

var nativeRoutingRules = []rule{
	{Class: plugin.Disruptive, When: "if packets travel in another way", If: func(c change) bool { return !sameEncapsulation(c) }, Reason: travelsOtherwise},
	{Class: plugin.Disruptive, When: "without tunnel", If: func(c change) bool { return encapsulationOf(c.After.Config) == v1alpha1.Disabled },
		Reason: "packets between pods are masqueraded from then on, or no longer are, and open connections break"},
	{Class: plugin.Rolling, Reason: restarts + "; packets between nodes are encapsulated as before"},
}
