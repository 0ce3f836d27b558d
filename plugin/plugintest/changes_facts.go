// SPDX-License-Identifier: Apache-2.0

package plugintest

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/trellis-network/trellis/plugin"
)

// checkFacts changes the clusters of networks: there must be a class, and a reason,
// wherever agents restart.
func (c *classification) checkFacts() {
	for _, before := range slices.Concat(c.plainNetworks(), c.varied()) {
		for _, fact := range plugin.AllFacts() {
			for _, change := range successors[fact] {
				in := before.input()
				change(in)
				if before.config == nil || reflect.DeepEqual(before.request.Facts.Value(fact), in.Value(fact)) {
					continue
				}
				if after := c.successor(before, in); after.renders() && after.config != nil {
					c.checkStep(before, after)
					c.checkStep(after, before)
				}
			}
		}
	}
}

// successor is the same network once something else is known of its cluster.
func (c *classification) successor(before network, in *plugin.Input) network {
	request := before.request
	request.Facts, request.Environment = in.Facts, in.Environment
	request.Spec.IPFamilies = in.WantedIPFamilies
	return c.build(before.name, before.caseName, before.cluster, request)
}

// checkStep compares a network before and after a change of its cluster.
func (c *classification) checkStep(before, after network) {
	isShown := string(before.result.Config) != string(after.result.Config)
	var changed []string
	for _, fact := range plugin.AllFacts() {
		if path := string(fact); before.valueAt(path) != after.valueAt(path) {
			changed = append(changed, path)
			class := c.classify(path, before, after)
			isShown = isShown || class != "" && class != plugin.Safe
		}
	}
	if isShown {
		return
	}
	c.where = fmt.Sprintf("%s, of which another network has %s", before.name, strings.Join(changed, " and "))
	agents := c.agents(after.result.Objects.For(plugin.Shoot))
	for name, was := range c.agents(before.result.Objects.For(plugin.Shoot)) {
		if is, both := agents[name]; both && !equality.Semantic.DeepEqual(was.Spec.Template, is.Spec.Template) {
			c.breach("%s restarts when %s changes, and users get no warning; return a class other than safe for that change in Classify",
				name, strings.Join(changed, " or "))
		}
	}
}
