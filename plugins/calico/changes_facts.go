// SPDX-License-Identifier: Apache-2.0

package calico

import (
	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/plugins/calico/v1alpha1"
)

// situation is a network in its cluster.
type situation = plugin.State[v1alpha1.NetworkConfig]

func classify(c plugin.Change[v1alpha1.NetworkConfig]) (plugin.ChangeClass, string) {
	if class, reason := changedFact(plugin.Fact(c.Path), c.Before, c.After); class != "" {
		return class, reason
	}
	return changedIn(c.Path, c.Before, c.After)
}

// changedFact judges what calico-node is told of the cluster, and no value of the config
// shows.
func changedFact(fact plugin.Fact, before, after situation) (plugin.ChangeClass, string) {
	class, reason := meaningOf(fact, before, after)
	return class, tellingCuts(reason, before.Config, after.Config)
}

func meaningOf(fact plugin.Fact, before, after situation) (plugin.ChangeClass, string) {
	switch fact {
	case plugin.FactKubeProxy:
		return changedKubeProxy(before, after)
	case plugin.FactKubeProxyMode:
		if usesNFTables(before.Input) != usesNFTables(after.Input) {
			return plugin.Disruptive, "kube-proxy and Felix write their rules anew, each in its own time, and packets to Services and what policies allow may be lost until both have"
		}
	case plugin.FactNodeRange:
		return changedNodeRange(before, after)
	case plugin.FactPodRanges:
		if hasIPv6(before.Config) && hasIPv6(after.Config) && podRangeIPv6(before.Input) != podRangeIPv6(after.Input) {
			return plugin.Rolling, restarts + "; what pods send within the new IPv6 range is not masqueraded"
		}
		if hasIPv4(before.Config) && hasIPv4(after.Config) && podRangeIPv4(before.Input) != podRangeIPv4(after.Input) {
			return plugin.Rolling, restarts + "; what pods send within the new IPv4 range is not masqueraded"
		}
	}
	return "", ""
}

func changedKubeProxy(before, after situation) (plugin.ChangeClass, string) {
	if usesEBPF(before.Config) && usesEBPF(after.Config) {
		return plugin.Rolling, restarts + "; packets to Services take the way of eBPF with kube-proxy and without"
	}
	return plugin.Disruptive, "another than before passes on packets to Services, and does not know connections that are open"
}

// changedNodeRange is about pool no-snat-for-node-cidr. That the range is also where
// nodes look for their address, ipv4.autoDetectionMethod tells.
func changedNodeRange(before, after situation) (plugin.ChangeClass, string) {
	was, is := unmasqueraded(before.Config, before.Input), unmasqueraded(after.Config, after.Input)
	switch {
	case was == is || overlayOff(before.Config) != overlayOff(after.Config):
		return "", ""
	case was == "":
		return plugin.Safe, "nodes of the range see the addresses of pods that connect to them from then on"
	case is == "":
		return plugin.Safe, masqueradedFromThenOn
	default:
		return plugin.Safe, masqueradedFromThenOn + " where they are not of the new one as well, whose nodes see the pods' addresses"
	}
}

const masqueradedFromThenOn = "what pods send to nodes of the old range is masqueraded from then on"

func usesEBPF(c *v1alpha1.NetworkConfig) bool {
	return c.EBPFDataplane != nil && c.EBPFDataplane.Enabled
}

// usesNFTables says whether Felix writes its rules into nftables, as kube-proxy does.
func usesNFTables(facts *plugin.Input) bool {
	return facts.KubeProxy.Enabled && facts.KubeProxy.Mode == corev1beta1.ProxyModeNFTables
}
