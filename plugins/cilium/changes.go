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
	restarts         = "agents restart node by node while traffic continues"
	onlyOperator     = "only cilium-operator restarts"
	familyGoes       = "packets from and to the addresses of the family that goes are dropped, which pods keep until they restart"
	travelsAsBefore  = restarts + "; packets between nodes travel as before"
	travelsOtherwise = "packets between nodes travel in another way, and changed nodes do not reach unchanged ones"
)

// Classify returns what the policy says.
func (definition) Classify(c change) (plugin.ChangeClass, string) { return changePolicy.Classify(c) }

// changePolicy has an entry for every value of NetworkConfig, in fields_*.go, and for the facts
// that cilium-config and cilium-operator depend on.
var changePolicy = withConfigFields(plugin.ChangePolicy[v1alpha1.NetworkConfig]{
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
