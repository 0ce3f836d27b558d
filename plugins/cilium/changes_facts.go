// SPDX-License-Identifier: Apache-2.0

package cilium

import (
	"strings"

	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/plugins/cilium/v1alpha1"
)

// situation is a network in its cluster.
type situation = plugin.State[v1alpha1.NetworkConfig]

// changedIn judges what changes of values mean that have no effect in this cluster.
// Agents are told of them all the same.
func changedIn(path string, before, after situation) (plugin.ChangeClass, string) {
	block, _, _ := strings.Cut(path, ".")
	idle := !replacesKubeProxy(before.Input) && !replacesKubeProxy(after.Input)
	switch block {
	case "l2Announcements":
		idle = !announces(before) && !announces(after)
	case "loadBalancingMode", "bpfSocketLBHostnsOnly":
	default:
		return "", ""
	}
	if !idle {
		return "", ""
	}
	return plugin.Rolling, restarts + "; the value has no effect as long as kube-proxy runs"
}

// announces says whether nodes answer for addresses of Services.
func announces(in situation) bool {
	l2 := in.Config.L2Announcements
	return l2 != nil && l2.Enabled && replacesKubeProxy(in.Input)
}

func classify(c plugin.Change[v1alpha1.NetworkConfig]) (plugin.ChangeClass, string) {
	if class, reason := changedFact(plugin.Fact(c.Path), c.Before, c.After); class != "" {
		return class, reason
	}
	if class, reason := changedIn(c.Path, c.Before, c.After); class != "" {
		return class, reason
	}
	return changes.Classify(c.Path, c.Before.Config, c.After.Config)
}

// changedFact judges what agents and cilium-operator are told of the cluster, and no
// value of the config shows.
func changedFact(fact plugin.Fact, before, after situation) (plugin.ChangeClass, string) {
	switch fact {
	case plugin.FactKubeProxy:
		if replacesKubeProxy(after.Input) {
			return plugin.Disruptive, "Cilium takes Services over from kube-proxy, whose rules each agent removes, and connections to Services that are open break"
		}
		return plugin.Disruptive, "kube-proxy takes Services over from Cilium, and connections to Services that are open break"
	case plugin.FactNodeLocalDNS:
		return plugin.Rolling, restarts + "; pods' DNS requests go to the cache of their node from then on, or no longer do"
	case plugin.FactNodeRange:
		return changedNodeRange(before, after)
	case plugin.FactPodRanges:
		if routesIPv6(before.Config) && routesIPv6(after.Config) && podRangeIPv6(before.Input) != podRangeIPv6(after.Input) {
			return plugin.Rolling, restarts + "; what pods send within the new IPv6 range is not masqueraded"
		}
	case plugin.FactAPIServer:
		then, _ := operatorAPIServer(before.Config, before.Input)
		if now, _ := operatorAPIServer(after.Config, after.Input); then != now {
			return plugin.Safe, "only cilium-operator restarts"
		}
	}
	return "", ""
}

func changedNodeRange(before, after situation) (plugin.ChangeClass, string) {
	switch {
	case masqueradesOutside(before.Config) && masqueradesOutside(after.Config):
		return plugin.Rolling, restarts + "; what pods send to nodes in the new range is not masqueraded"
	case isStrict(before.Config) && isStrict(after.Config) && letsRemoteNodesInTheClear(before.Config, before.Input) != letsRemoteNodesInTheClear(after.Config, after.Input):
		return plugin.Rolling, restarts + "; what goes to other nodes themselves is encrypted as well if no node's address may be a pod's"
	}
	return "", ""
}

func masqueradesOutside(c *v1alpha1.NetworkConfig) bool {
	return c.SnatOutOfCluster != nil && c.SnatOutOfCluster.Enabled
}

func routesIPv6(c *v1alpha1.NetworkConfig) bool { return isTrue(c.IPv6NativeRoutingCIDREnabled) }
