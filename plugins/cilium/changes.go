// SPDX-License-Identifier: Apache-2.0

package cilium

import (
	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/plugins/cilium/v1alpha1"
)

type (
	change = plugin.Change[v1alpha1.NetworkConfig]
	rule   = plugin.ChangeRule[v1alpha1.NetworkConfig]
)

const (
	// restarts begins the reason of changes that agents pick up by restarting. The
	// programs that they have loaded into the kernel keep running.
	restarts           = "agents restart node after node, and traffic goes on meanwhile"
	onlyOperator       = "only cilium-operator restarts"
	familyGoes         = "packets from and to the addresses of the family that goes are dropped, which pods keep until they restart"
	travelsAsBefore    = restarts + "; packets between nodes travel as before"
	travelsOtherwise   = "packets between nodes travel in another way, and a node that has changed does not reach one that has not"
	masqueradesByOther = "connections that pods have opened to the outside break: eBPF does not know what iptables has masqueraded, nor the other way round"
	fromNodes          = "connections that pods have opened to the outside break, since they come from their node's address from then on"
	fromPods           = "pods' connections to the outside come from their own addresses from then on, to which no answer may find the way"
	noSuchPackets      = restarts + "; the network had no such packets, or has none"
)

// Classify returns what the policy says.
func (definition) Classify(c change) (plugin.ChangeClass, string) { return changePolicy.Classify(c) }

// changePolicy has an entry for every value of NetworkConfig, and for the facts that agents and
// cilium-operator are told of. fields.go has those of ordinary fields.
var changePolicy = withOrdinaryFields(plugin.ChangePolicy[v1alpha1.NetworkConfig]{
	"kubeproxy.k8sServiceHost": {{Class: plugin.Safe, Reason: onlyOperator}},
	"kubeproxy.k8sServicePort": {{Class: plugin.Safe, Reason: onlyOperator}},
	"hubble.enabled":           {{Class: plugin.Rolling, Reason: restarts + "; flows that they have recorded are lost"}},
	"tunnel":                   encapsulationRules,
	"store":                    {{Class: plugin.Safe, Reason: "the field has no effect"}},
	"ipv4.enabled": {
		{Class: plugin.Disruptive, When: "if the network loses IPv4", If: func(c change) bool {
			return hasIPv4(c.Before.Config) && !hasIPv4(c.After.Config)
		}, Reason: familyGoes},
		{Class: plugin.Rolling, Reason: restarts},
	},
	"ipv6.enabled": {
		{Class: plugin.Disruptive, When: "if the network loses IPv6", If: func(c change) bool {
			return hasIPv6(c.Before.Config) && !hasIPv6(c.After.Config)
		}, Reason: familyGoes},
		{Class: plugin.Rolling, When: "if the network gets IPv6", If: func(c change) bool { return hasIPv6(c.After.Config) },
			Reason: restarts + "; pods that start from then on get an IPv6 address as well"},
		{Class: plugin.Rolling, Reason: restarts},
	},
	"l2Announcements.enabled": {
		idleAnnouncements,
		{Class: plugin.Rolling, When: "if switched on", If: func(c change) bool {
			return c.After.Config.L2Announcements != nil && c.After.Config.L2Announcements.Enabled
		}, Reason: restarts},
		{Class: plugin.Disruptive, Reason: "no node answers any more for the addresses of Services that nodes announced"},
	},
	"l2Announcements":              {idleAnnouncements, {Class: plugin.Rolling, Reason: restarts}},
	"ipv4NativeRoutingCIDREnabled": nativeRoutingRules,
	"ipv6NativeRoutingCIDREnabled": nativeRoutingRules,
	"overlay.enabled": append([]rule{{Class: plugin.Safe, When: "if packets travel as before, without strict encryption", If: func(c change) bool {
		before, after := c.Before.Config, c.After.Config // strict mode goes by the value itself
		same := overlayOff(before) == overlayOff(after) || !isStrict(before) && !isStrict(after)
		return same && encapsulationOf(before) == encapsulationOf(after)
	}, Reason: "the value only becomes explicit, or ceases to be so: packets between nodes travel as before"}}, encapsulationRules...),
	"overlay.createPodRoutes": {
		{Class: plugin.Safe, When: "if the value only becomes explicit, or ceases to be so", If: func(c change) bool {
			return createsPodRoutes(c.Before.Config) == createsPodRoutes(c.After.Config)
		}, Reason: "the value only became explicit or ceased to be so"},
		{Class: plugin.Disruptive, Reason: "another component makes the routes between nodes from then on, and the old routes go before all new ones are there"},
	},
	"snatToUpstreamDNS.enabled": masqueraderRules,
	"snatOutOfCluster.enabled":  masqueraderRules,
	"enableIpv4Masquerade": {
		{Class: plugin.Rolling, When: "if the network has no IPv4", If: func(c change) bool {
			return !hasIPv4(c.Before.Config) || !hasIPv4(c.After.Config)
		}, Reason: noSuchPackets},
		{Class: plugin.Disruptive, When: "if switched on", If: func(c change) bool { return isTrue(c.After.Config.EnableIPv4Masquerade) }, Reason: fromNodes},
		{Class: plugin.Disruptive, Reason: fromPods},
	},
	"enableIpv6Masquerade": {
		{Class: plugin.Rolling, When: "if the network has no IPv6", If: func(c change) bool {
			return !hasIPv6(c.Before.Config) || !hasIPv6(c.After.Config)
		}, Reason: noSuchPackets},
		{Class: plugin.Disruptive, When: "if switched on", If: func(c change) bool { return isTrue(c.After.Config.EnableIPv6Masquerade) }, Reason: fromNodes},
		{Class: plugin.Disruptive, Reason: fromPods},
	},
	"enableBPFMasquerade":          masqueraderRules,
	"encryption.enabled":           encryptionRules,
	"encryption.mode":              encryptionRules,
	"encryption.nodeToNodeEnabled": {{Class: plugin.Rolling, Reason: restarts + "; two nodes encrypt what they send to each other as soon as both do"}},
	"encryption.strictMode":        encryptionRules,

	string(plugin.FactKubeProxy): {
		{Class: plugin.Disruptive, When: "if kube-proxy goes", If: func(c change) bool { return replacesKubeProxy(c.After.Input) },
			Reason: "Cilium takes Services over from kube-proxy, whose rules each agent removes, and connections to Services that are open break"},
		{Class: plugin.Disruptive, Reason: "kube-proxy takes Services over from Cilium, and connections to Services that are open break"},
	},
	string(plugin.FactNodeLocalDNS): {{Class: plugin.Rolling, Reason: restarts + "; pods' DNS requests go to the cache of their node from then on, or no longer do"}},
	string(plugin.FactNodeRange): {
		{Class: plugin.Rolling, When: "with snatOutOfCluster", If: func(c change) bool {
			return masqueradesOutside(c.Before.Config) && masqueradesOutside(c.After.Config)
		}, Reason: restarts + "; what pods send to nodes in the new range is not masqueraded"},
		{Class: plugin.Rolling, When: "with strict encryption", If: func(c change) bool {
			return isStrict(c.Before.Config) && isStrict(c.After.Config) &&
				letsRemoteNodesInTheClear(c.Before.Config, c.Before.Input) != letsRemoteNodesInTheClear(c.After.Config, c.After.Input)
		}, Reason: restarts + "; what goes to other nodes themselves is encrypted as well if no node's address may be a pod's"},
	},
	string(plugin.FactPodRanges): {{Class: plugin.Rolling, When: "if the IPv6 range changes and is not masqueraded", If: func(c change) bool {
		return routesIPv6(c.Before.Config) && routesIPv6(c.After.Config) && podRangeIPv6(c.Before.Input) != podRangeIPv6(c.After.Input)
	}, Reason: restarts + "; what pods send within the new IPv6 range is not masqueraded"}},
	string(plugin.FactAPIServer): {{Class: plugin.Safe, When: "if cilium-operator reaches it by this address", If: func(c change) bool {
		before, _ := operatorAPIServer(c.Before.Config, c.Before.Input)
		after, _ := operatorAPIServer(c.After.Config, c.After.Input)
		return before != after
	}, Reason: onlyOperator}},
})

// Values that have no effect in a cluster restart agents nevertheless.
var (
	idleWithKubeProxy = rule{Class: plugin.Rolling, When: "with kube-proxy", If: func(c change) bool {
		return !replacesKubeProxy(c.Before.Input) && !replacesKubeProxy(c.After.Input)
	}, Reason: noEffect}
	idleAnnouncements = rule{Class: plugin.Rolling, When: "with kube-proxy, or if nodes announce nothing", If: func(c change) bool {
		return !announces(c.Before) && !announces(c.After)
	}, Reason: noEffect}
)

const noEffect = restarts + "; the value has no effect as long as kube-proxy runs"

var encapsulationRules = []rule{
	{Class: plugin.Rolling, When: "if packets travel as before", If: sameEncapsulation, Reason: travelsAsBefore},
	{Class: plugin.Disruptive, Reason: travelsOtherwise},
}

var nativeRoutingRules = []rule{
	{Class: plugin.Disruptive, When: "if packets travel in another way", If: func(c change) bool { return !sameEncapsulation(c) }, Reason: travelsOtherwise},
	{Class: plugin.Disruptive, When: "without tunnel", If: func(c change) bool { return encapsulationOf(c.After.Config) == v1alpha1.Disabled },
		Reason: "packets between pods are masqueraded from then on, or no longer are, and connections that are open break"},
	{Class: plugin.Rolling, Reason: restarts + "; packets between nodes are encapsulated as before"},
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

var encryptionRules = []rule{
	{Class: plugin.Safe, When: "if nothing is encrypted", If: func(c change) bool {
		return !isEncrypted(c.Before.Config) && !isEncrypted(c.After.Config)
	}, Reason: "nothing is encrypted, before or after"},
	{Class: plugin.Rolling, When: "if the same is encrypted as before", If: func(c change) bool {
		before, after := c.Before.Config, c.After.Config
		return isEncrypted(before) == isEncrypted(after) && isStrict(before) == isStrict(after)
	}, Reason: restarts + "; the same traffic is encrypted as before"},
	{Class: plugin.Disruptive, When: "into strict mode", If: func(c change) bool { return isStrict(c.After.Config) },
		Reason: "a node that has changed drops what it would have to send in the clear to one that has not"},
	{Class: plugin.Disruptive, When: "from strict mode to none", If: func(c change) bool {
		return isStrict(c.Before.Config) && !isEncrypted(c.After.Config)
	}, Reason: "a node that has not changed drops what it would have to send in the clear to one that has"},
	{Class: plugin.Rolling, When: "out of strict mode", If: func(c change) bool { return isStrict(c.Before.Config) },
		Reason: restarts + "; the same traffic is encrypted as before, and none is dropped any more where it cannot be"},
	{Class: plugin.Rolling, Reason: restarts + "; two nodes encrypt as soon as both do, and talk in the clear until then"},
}
