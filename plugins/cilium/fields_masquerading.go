// SPDX-License-Identifier: Apache-2.0

package cilium

import (
	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/plugins/cilium/v1alpha1"
)

const (
	masqueradesByOther = "open connections of pods to the outside break: eBPF does not know the connections that iptables masquerades, and vice versa"
	fromNodes          = "open connections of pods to the outside break, since packets now have their node's address"
	fromPods           = "pods' connections to the outside come from their own addresses from then on, to which no answer may find the way"
	noSuchPackets      = restarts + "; the network had no such packets, or has none"
)

// masqueradingFields are about which packets leave the cluster with a node's address.
var masqueradingFields = []configField{
	{
		path:       "snatToUpstreamDNS.enabled",
		setDefault: func(d *defaulting) { plugin.OrDefault(&d.config.SnatToUpstreamDNS, v1alpha1.SnatToUpstreamDNS{}) },
		changes:    masqueraderRules,
	},
	{
		path:       "snatOutOfCluster.enabled",
		setDefault: func(d *defaulting) { plugin.OrDefault(&d.config.SnatOutOfCluster, v1alpha1.SnatOutOfCluster{}) },
		changes:    masqueraderRules,
	},
	{
		path: "enableIpv4Masquerade",
		setDefault: func(d *defaulting) {
			plugin.OrDefault(&d.config.EnableIPv4Masquerade, true)
			if !hasIPv4(d.config) {
				d.config.EnableIPv4Masquerade = new(false)
				d.origins.Rule("enableIpv4Masquerade", "the network has no IPv4")
			}
		},
		configure: func(c ciliumConfig, s settings) {
			s["enable-ipv4-masquerade"] = boolean(*c.config.EnableIPv4Masquerade)
		},
		changes: []rule{
			{Class: plugin.Rolling, When: "if the network has no IPv4", If: func(c change) bool {
				return !hasIPv4(c.Before.Config) || !hasIPv4(c.After.Config)
			}, Reason: noSuchPackets},
			{Class: plugin.Disruptive, When: "if switched on", If: func(c change) bool { return isTrue(c.After.Config.EnableIPv4Masquerade) }, Reason: fromNodes},
			{Class: plugin.Disruptive, Reason: fromPods},
		},
	},
	{
		path:       "enableIpv6Masquerade",
		setDefault: func(d *defaulting) { plugin.OrDefault(&d.config.EnableIPv6Masquerade, false) },
		configure: func(c ciliumConfig, s settings) {
			s["enable-ipv6-masquerade"] = boolean(*c.config.EnableIPv6Masquerade)
		},
		changes: []rule{
			{Class: plugin.Rolling, When: "if the network has no IPv6", If: func(c change) bool {
				return !hasIPv6(c.Before.Config) || !hasIPv6(c.After.Config)
			}, Reason: noSuchPackets},
			{Class: plugin.Disruptive, When: "if switched on", If: func(c change) bool { return isTrue(c.After.Config.EnableIPv6Masquerade) }, Reason: fromNodes},
			{Class: plugin.Disruptive, Reason: fromPods},
		},
	},
	{
		path:       "enableBPFMasquerade",
		setDefault: defaultBPFMasquerade,
		configure: func(c ciliumConfig, s settings) {
			s.setIf(knowsBPFMasquerade(c.config), "enable-bpf-masquerade", boolean(*c.config.EnableBPFMasquerade))
		},
		changes: masqueraderRules,
	},
}

func defaultBPFMasquerade(d *defaulting) {
	switch {
	case knowsBPFMasquerade(d.config):
		plugin.OrDefault(&d.config.EnableBPFMasquerade, true)
		return
	case !hasIPv4(d.config):
		d.origins.Rule("enableBPFMasquerade", "the network has no IPv4")
	default:
		d.origins.Rule("enableBPFMasquerade", "snatToUpstreamDNS and snatOutOfCluster add rules to iptables, so it is iptables that masquerades")
	}
	d.config.EnableBPFMasquerade = new(false)
}

// masqueraderRules are about whether eBPF or iptables masquerades.
var masqueraderRules = []rule{
	{Class: plugin.Rolling, When: "if iptables, or eBPF, masquerades before and after", If: func(c change) bool {
		return isTrue(c.Before.Config.EnableBPFMasquerade) == isTrue(c.After.Config.EnableBPFMasquerade)
	}, Reason: restarts + "; rules that are in iptables stay there until the node is replaced"},
	{Class: plugin.Rolling, When: "if nothing is masqueraded", If: func(c change) bool {
		return !masquerades(c.Before.Config) && !masquerades(c.After.Config)
	}, Reason: restarts + "; nothing is masqueraded"},
	{Class: plugin.Disruptive, Reason: masqueradesByOther},
}
