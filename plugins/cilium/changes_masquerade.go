// SPDX-License-Identifier: Apache-2.0

package cilium

import (
	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/plugins/cilium/v1alpha1"
)

// changedMasquerader judges whether it is eBPF or iptables that masquerades.
func changedMasquerader(before, after *v1alpha1.NetworkConfig) (plugin.ChangeClass, string) {
	if isTrue(before.EnableBPFMasquerade) == isTrue(after.EnableBPFMasquerade) {
		return plugin.Rolling, restarts + "; rules that are in iptables stay there until the node is replaced"
	}
	if !masquerades(before) && !masquerades(after) {
		return plugin.Rolling, restarts + "; nothing is masqueraded"
	}
	return plugin.Disruptive, "connections that pods have opened to the outside break: eBPF does not know what iptables has masqueraded, nor the other way round"
}

func masquerades(c *v1alpha1.NetworkConfig) bool {
	return isTrue(c.EnableIPv4Masquerade) || isTrue(c.EnableIPv6Masquerade)
}

func changedIPv4Masquerade(before, after *v1alpha1.NetworkConfig) (plugin.ChangeClass, string) {
	return changedMasquerade(hasIPv4(before) && hasIPv4(after), isTrue(after.EnableIPv4Masquerade))
}

func changedIPv6Masquerade(before, after *v1alpha1.NetworkConfig) (plugin.ChangeClass, string) {
	return changedMasquerade(hasIPv6(before) && hasIPv6(after), isTrue(after.EnableIPv6Masquerade))
}

func changedMasquerade(hasFamily, on bool) (plugin.ChangeClass, string) {
	switch {
	case !hasFamily:
		return plugin.Rolling, restarts + "; the network had no such packets, or has none"
	case on:
		return plugin.Disruptive, "connections that pods have opened to the outside break, since they come from their node's address from then on"
	default:
		return plugin.Disruptive, "pods' connections to the outside come from their own addresses from then on, to which no answer may find the way"
	}
}
