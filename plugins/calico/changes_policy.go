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

// What Felix has set up stays in place while calico-node restarts, with the exception of
// BIRD's routes in networks with overlay.createPodRoutes.
const (
	goesOn   = " while traffic continues"
	cutsOff  = "while calico-node starts on a node, pods there do not reach those of other nodes"
	isCutOff = ", and " + cutsOff + ": without overlay it first removes BIRD's routes, which overlay.createPodRoutes brings back"
)

// rule states what some changes of a value mean, as a plugin.ChangeRule does.
type rule struct {
	// Class is empty with Restart: then the change is rolling, or disruptive if it cuts pods off.
	Class   plugin.ChangeClass
	Restart restart
	// Common begins the reasons of several rules of a field.
	Common string
	Reason string
	When   string
	If     func(change) bool
}

// usual returns the class and the beginning of the reason of a change that does not cut pods off.
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
		if r.Restart != "" && usesBIRD(c.Before.Config) && createsPodRoutes(c.After.Config) {
			return plugin.Disruptive, joined(string(r.Restart)+isCutOff, r.Reason)
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
			if r.Restart != "" && !stated.Has(common) {
				all[path] = append(all[path], plugin.PossibleChange{
					Class: plugin.Disruptive, Reason: cutsOff, When: "instead of rolling with overlay.createPodRoutes",
				})
			}
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
