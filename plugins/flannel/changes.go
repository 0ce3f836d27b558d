// SPDX-License-Identifier: Apache-2.0

package flannel

import (
	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/plugins/flannel/v1alpha1"
)

// restarts is the beginning of the reason of changes for which flannel restarts. Its routes
// and rules stay meanwhile.
const restarts = "flannel restarts node by node while traffic continues"

const onlyNewPods = restarts + "; only pods that start from then on get the new MTU"

type (
	change = plugin.Change[v1alpha1.NetworkConfig]
	rule   = plugin.ChangeRule[v1alpha1.NetworkConfig]
)

// Classify returns what the policy says.
func (definition) Classify(c change) (plugin.ChangeClass, string) { return changePolicy.Classify(c) }

// changePolicy has an entry for every value of NetworkConfig, and for the pods' ranges, which
// the daemon reads. The rules of backend.type were measured on real nodes: a change either way
// loses one or two packets and no connection.
var changePolicy = plugin.ChangePolicy[v1alpha1.NetworkConfig]{
	"backend.type": {
		{Class: plugin.Rolling, When: "from vxlan", If: func(c change) bool {
			return encapsulates(c.Before.Config) && !encapsulates(c.After.Config)
		}, Reason: restarts + "; each node recreates its routes, and accepts both kinds of packets as long as all nodes are in one layer 2 segment"},
		{Class: plugin.Rolling, When: "to vxlan", If: func(c change) bool {
			return !encapsulates(c.Before.Config) && encapsulates(c.After.Config)
		}, Reason: restarts + "; running pods keep an MTU that is 50 too large until they restart; fragmentation or path MTU discovery handles their largest packets"},
		{Class: plugin.Rolling, Reason: restarts + "; packets travel as before"},
	},
	"backend.port":          tunnelRules("nodes with the new port and nodes with the old one do not understand each other"),
	"backend.vni":           tunnelRules("nodes with the new identifier and nodes with the old one do not understand each other"),
	"backend.directRouting": {{Class: plugin.Rolling, Reason: restarts + "; nodes of one subnet accept both kinds of packets"}},
	"mtu": {
		{Class: plugin.Rolling, When: "with backend.type: vxlan", If: func(c change) bool {
			return encapsulates(c.Before.Config) && encapsulates(c.After.Config)
		}, Reason: onlyNewPods + ", and the nodes' VXLAN interfaces keep theirs until the node is replaced"},
		{Class: plugin.Rolling, Reason: onlyNewPods},
	},
	"ipFamilies": {
		{Class: plugin.Disruptive, When: "if a family goes", If: func(c change) bool {
			was, is := inForce(c.Before.Config), inForce(c.After.Config)
			return hasFamily(was, v1alpha1.IPv4) && !hasFamily(is, v1alpha1.IPv4) || hasFamily(was, v1alpha1.IPv6) && !hasFamily(is, v1alpha1.IPv6)
		}, Reason: "flannel no longer maintains the routes to the addresses of the family that goes, which pods keep until they restart"},
		{Class: plugin.Rolling, When: "if a family comes", If: func(c change) bool {
			return len(inForce(c.Before.Config).IPFamilies) < len(inForce(c.After.Config).IPFamilies)
		}, Reason: restarts + "; pods that start from then on get an address of the second family as well"},
		{Class: plugin.Safe, When: "if only the order changes", Reason: "the order of IP families means nothing to flannel"},
	},
	"nftables":  {{Class: plugin.Rolling, Reason: restarts + "; the rules of the other kind are replaced at once"}},
	"resources": {{Class: plugin.Rolling, Reason: restarts}},

	string(plugin.FactPodRanges): {{Class: plugin.Rolling, When: "if the range of a family changes", If: func(c change) bool {
		for family, isOfFamily := range ofFamily {
			stays := hasFamily(inForce(c.Before.Config), family) && hasFamily(inForce(c.After.Config), family)
			if stays && podRange(c.Before.Input, isOfFamily) != podRange(c.After.Input, isOfFamily) {
				return true
			}
		}
		return false
	}, Reason: restarts + "; what pods send within the new range is not masqueraded"}},
}

// tunnelRules are for a property of VXLAN, which comes and goes with it.
func tunnelRules(reason string) []rule {
	return []rule{
		{Class: plugin.Rolling, When: "together with backend.type", If: func(c change) bool {
			return encapsulates(c.Before.Config) != encapsulates(c.After.Config)
		}, Reason: restarts + "; the value comes and goes with backend.type vxlan"},
		{Class: plugin.Disruptive, Reason: reason},
	}
}

// inForce returns a config that has families, also for a config of another release without
// them.
func inForce(c *v1alpha1.NetworkConfig) *v1alpha1.NetworkConfig {
	if len(c.IPFamilies) > 0 {
		return c
	}
	return &v1alpha1.NetworkConfig{IPFamilies: []v1alpha1.IPFamily{v1alpha1.IPv4}}
}
