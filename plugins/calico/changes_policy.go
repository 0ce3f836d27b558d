// SPDX-License-Identifier: Apache-2.0

package calico

import (
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/plugins/calico/v1alpha1"
)

type change = plugin.Change[v1alpha1.NetworkConfig]

// restart begins the reason of changes that restart calico-node.
type restart string

const (
	ofNode       restart = "calico-node restarts node by node"
	withRequests restart = "calico-node and Typha may restart one after the other with other requests"
)

// goesOn is what Calico's graceful restart is for: Felix leaves what it has set up in place, and
// BIRD its routes, which its neighbours keep as well.
const goesOn = " while traffic continues, since routes and tunnels stay"

// rule states what some changes of a value mean, as a plugin.ChangeRule does.
type rule struct {
	// Class is empty with Restart: then the change is rolling.
	Class   plugin.ChangeClass
	Restart restart
	// Common begins the reasons of several rules of a field.
	Common string
	Reason string
	When   string
	If     func(change) bool
}

// usual returns the class, and the beginning of the reason.
func (r rule) usual() (plugin.ChangeClass, string) {
	if r.Restart != "" {
		return plugin.Rolling, string(r.Restart) + goesOn
	}
	return r.Class, r.Common
}

// policy has the rules for each path, as a plugin.ChangePolicy.
type policy map[string][]rule

func (p policy) classify(c change) (plugin.ChangeClass, string) {
	rules, _ := plugin.Nearest(p, c.Path)
	for _, r := range rules {
		if r.If != nil && !r.If(c) {
			continue
		}
		class, common := r.usual()
		return class, joined(common, r.Reason)
	}
	return "", ""
}

// possible states only once for each path what several of its rules have in common.
func (p policy) possible() map[string][]plugin.PossibleChange {
	all := make(map[string][]plugin.PossibleChange, len(p))
	for path, rules := range p {
		stated := sets.New[string]()
		for _, r := range rules {
			class, common := r.usual()
			reason := joined(common, r.Reason)
			if stated.Has(common) && r.Reason != "" {
				reason = r.Reason
			}
			stated.Insert(common)
			all[path] = append(all[path], plugin.PossibleChange{Class: class, Reason: reason, When: r.When})
		}
	}
	return all
}

func joined(common, reason string) string {
	if common == "" || reason == "" {
		return common + reason
	}
	return common + "; " + reason
}
