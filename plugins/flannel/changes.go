// SPDX-License-Identifier: Apache-2.0

package flannel

import (
	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/plugins/flannel/v1alpha1"
)

// restarts begins the reason of changes that flannel picks up by restarting. Routes and
// rules that it has made stay meanwhile.
const restarts = "flannel restarts node after node, and traffic goes on meanwhile"

// changes has an entry for every value of NetworkConfig; an entry for a block is
// for all values in it.
var changes = plugin.Meanings[v1alpha1.NetworkConfig]{
	"backend.type":          {Judge: changedType},
	"backend.port":          {Judge: changedTunnel("nodes that have another port already do not understand those that have not")},
	"backend.vni":           {Judge: changedTunnel("nodes that have another identifier already do not understand those that have not")},
	"backend.directRouting": {Class: plugin.Rolling, Reason: restarts + "; nodes of one subnet take what comes in either way"},
	"mtu":                   {Judge: changedMTU},
	"ipFamilies":            {Judge: changedFamilies},
	"nftables":              {Class: plugin.Rolling, Reason: restarts + "; the rules of the other kind are replaced at once"},
	"resources":             {Class: plugin.Rolling, Reason: restarts},
}

// changedType goes by what was measured on real nodes: packets in flight on the way
// there and back are lost in ones and twos, and no connection is.
func changedType(before, after *v1alpha1.NetworkConfig) (plugin.ChangeClass, string) {
	switch {
	case encapsulates(before) && !encapsulates(after):
		return plugin.Rolling, restarts + "; each node makes its routes anew and takes what comes in either way, as long as all are in one layer 2 segment"
	case !encapsulates(before) && encapsulates(after):
		return plugin.Rolling, restarts + "; pods that run keep an MTU that is 50 too large, and their largest packets are fragmented or found out until they restart"
	default:
		return plugin.Rolling, restarts + "; packets travel as before"
	}
}

func changedMTU(before, after *v1alpha1.NetworkConfig) (plugin.ChangeClass, string) {
	reason := restarts + "; only pods that start from then on get the new MTU"
	if encapsulates(before) && encapsulates(after) {
		reason += ", and the nodes' VXLAN interfaces keep theirs until the node is replaced"
	}
	return plugin.Rolling, reason
}

// changedTunnel judges a property of VXLAN, which comes and goes with it.
func changedTunnel(reason string) func(before, after *v1alpha1.NetworkConfig) (plugin.ChangeClass, string) {
	return func(before, after *v1alpha1.NetworkConfig) (plugin.ChangeClass, string) {
		if encapsulates(before) != encapsulates(after) {
			return plugin.Rolling, restarts + "; the value comes and goes with backend.type vxlan"
		}
		return plugin.Disruptive, reason
	}
}

func changedFamilies(before, after *v1alpha1.NetworkConfig) (plugin.ChangeClass, string) {
	was, is := inForce(before), inForce(after)
	switch {
	case hasFamily(was, v1alpha1.IPv4) && !hasFamily(is, v1alpha1.IPv4), hasFamily(was, v1alpha1.IPv6) && !hasFamily(is, v1alpha1.IPv6):
		return plugin.Disruptive, "nobody keeps up the routes any more to the addresses of the family that goes, which pods keep until they are started anew"
	case len(was.IPFamilies) < len(is.IPFamilies):
		return plugin.Rolling, restarts + "; pods that start from then on get an address of the second family as well"
	default:
		return plugin.Safe, "the order of IP families means nothing to flannel"
	}
}

func classify(c plugin.Change[v1alpha1.NetworkConfig]) (plugin.ChangeClass, string) {
	if class, reason := changedFact(plugin.Fact(c.Path), c.Before, c.After); class != "" {
		return class, reason
	}
	return changes.Classify(c.Path, c.Before.Config, c.After.Config)
}

// changedFact judges the pods' ranges, which the daemon is told and no value of the
// config shows.
func changedFact(fact plugin.Fact, before, after plugin.State[v1alpha1.NetworkConfig]) (plugin.ChangeClass, string) {
	if fact != plugin.FactPodRanges {
		return "", ""
	}
	for family, isOfFamily := range ofFamily {
		stays := hasFamily(inForce(before.Config), family) && hasFamily(inForce(after.Config), family)
		if stays && podRange(before.Input, isOfFamily) != podRange(after.Input, isOfFamily) {
			return plugin.Rolling, restarts + "; what pods send within the new range is not masqueraded"
		}
	}
	return "", ""
}

// inForce is a config whose families are known, also if another release wrote it.
func inForce(c *v1alpha1.NetworkConfig) *v1alpha1.NetworkConfig {
	if len(c.IPFamilies) > 0 {
		return c
	}
	return &v1alpha1.NetworkConfig{IPFamilies: []v1alpha1.IPFamily{v1alpha1.IPv4}}
}
