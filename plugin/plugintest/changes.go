// SPDX-License-Identifier: Apache-2.0

package plugintest

import (
	"bytes"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/trellis-network/trellis/plugin"
)

var classes = []plugin.ChangeClass{plugin.Safe, plugin.Rolling, plugin.Disruptive, plugin.Forbidden}

// changes: every change that matters to users has a class and a reason.
func changes(s *suite, found *report) {
	c := &classification{s, found, sets.New[given]()}
	for _, in := range clustersFor(s.plugin) {
		if in.with != nil {
			continue
		}
		empty := s.emptyNetwork(in)
		for _, v := range s.values {
			for _, path := range v.paths() {
				if !v.inList() && c.classify(path, empty, empty) == "" {
					found.breach("Classify has no class for %s; say what a change of it means for a running network", path)
				}
			}
		}
		if class, _ := s.ask("noSuchField", empty, empty); class != "" {
			found.breach("Classify knows noSuchField, which is no field, as %s; return no class for a path that it does not know, so that a new field is noticed", class)
		}
	}
	c.checkTransitions()
	c.checkFacts()
	c.checkDeclared()
}

// classification asks a plugin for classes of changes.
type classification struct {
	*suite
	*report
	given sets.Set[given]
}

// given is a class that Classify gave for a path.
type given struct {
	path  string
	class plugin.ChangeClass
}

// emptied is a network in which no value is set: those of old releases may have any or none.
func (s *suite) emptied(n network) network {
	n.config, _ = s.plugin.Decode(nil, nil)
	n.inForce = nil
	return n
}

func (s *suite) emptyNetwork(in cluster) network {
	return s.emptied(network{name: "a cluster with " + in.name + " and no config", request: s.request(Case{}, in)})
}

func (s *suite) ask(path string, before, after network) (plugin.ChangeClass, string) {
	return s.plugin.Classify(path, before.config, after.config, before.input(), after.input())
}

// classify returns the class of a change at path, and checks what Classify says.
func (c *classification) classify(path string, before, after network) plugin.ChangeClass {
	c.where = fmt.Sprintf("a change of %s from %q, in %s, to %q, in %s", path, before.valueAt(path), before.name, after.valueAt(path), after.name)
	class, reason := c.ask(path, before, after)
	possible, _ := plugin.Nearest(c.plugin.Changes, path)
	switch {
	case class == "":
		return class
	case !slices.Contains(classes, class):
		c.breach("Classify has the class %q for %s; there are %v", class, path, classes)
	case strings.TrimSpace(reason) == "":
		c.breach("Classify has no reason why a change of %s is %s; say in one sentence what happens", path, class)
	case strings.HasSuffix(reason, "."):
		c.breach("the reason of Classify for %s ends with a period: %q; it stands within a sentence", path, reason)
	case !slices.ContainsFunc(possible, func(p plugin.PossibleChange) bool { return p.Class == class }):
		c.breach("Classify says that a change of %s can be %s, and the Changes of Description do not; declare it, since trellis explain prints those", path, class)
	}
	c.given.Insert(given{path, class})
	return class
}

// checkTransitions classifies what changes between cases, and between IP families.
func (c *classification) checkTransitions() {
	for _, before := range c.plainNetworks() {
		for _, after := range c.plainNetworks() {
			isStep := before.caseName == after.caseName || before.cluster.name == after.cluster.name
			if !isStep || before.config == nil || after.config == nil {
				continue
			}
			all := maps.Clone(before.inForce)
			maps.Copy(all, after.inForce)
			for _, path := range slices.Sorted(maps.Keys(all)) {
				if before.valueAt(path) != after.valueAt(path) && c.classify(path, before, after) == "" {
					c.breach("Classify has no class for %s; say what a change of it means for a running network", path)
				}
			}
		}
	}
}

// checkFacts changes the clusters of networks: a change that restarts agents needs a class.
func (c *classification) checkFacts() {
	for _, before := range slices.Concat(c.plainNetworks(), c.varied()) {
		for _, fact := range plugin.AllFacts() {
			for _, change := range successors[fact] {
				in := before.input()
				change(in)
				if before.config == nil || reflect.DeepEqual(before.request.Facts.Value(fact), in.Value(fact)) {
					continue
				}
				after := before
				after.request.Facts, after.request.Environment = in.Facts, in.Environment
				after.request.Spec.IPFamilies = in.WantedIPFamilies
				if after = c.build(after); after.renders() && after.config != nil {
					c.checkStep(before, after)
					c.checkStep(after, before)
				}
			}
		}
	}
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
	agents := inShoot(after, "apps", "DaemonSet")
	for name, was := range inShoot(before, "apps", "DaemonSet") {
		is, both := agents[name]
		if !both || bytes.Equal(was.raw, is.raw) {
			continue
		}
		if !equality.Semantic.DeepEqual(was.workload().Spec.Template, is.workload().Spec.Template) {
			c.breach("%s restarts when %s changes, and users get no warning; return a class other than safe for that change in Classify",
				name, strings.Join(changed, " or "))
		}
	}
}

// checkDeclared finds declared classes that Classify never gives, and paths of no field.
func (c *classification) checkDeclared() {
	c.where = ""
	var leaves []string
	for _, v := range c.values {
		leaves = append(leaves, v.paths()...)
	}
	for _, fact := range plugin.AllFacts() {
		leaves = append(leaves, string(fact))
	}
	for path, possible := range c.plugin.Changes {
		of := slices.DeleteFunc(slices.Clone(leaves), func(leaf string) bool { return leaf != path && !strings.HasPrefix(leaf, path+".") })
		if len(of) == 0 {
			c.breach("the Changes of Description declare %s, which is neither a field nor a fact; remove it", path)
		}
		for _, one := range possible {
			isGiven := func(leaf string) bool { return c.given.Has(given{leaf, one.Class}) }
			if !slices.ContainsFunc(of, isGiven) && !c.search(of, one.Class) {
				c.breach("the Changes of Description declare that a change of %s can be %s, and Classify never says so; remove it, or add Cases between which it does", path, one.Class)
			}
		}
	}
}

// search reports whether Classify gives a class for one of the leaves between any two
// networks, of which one may be of a release that kept no config.
func (c *classification) search(leaves []string, class plugin.ChangeClass) bool {
	networks := slices.DeleteFunc(slices.Concat(c.drawn(), c.varied(), c.networks()), func(n network) bool { return !n.renders() || n.config == nil })
	for _, n := range networks {
		for _, before := range []network{n, c.emptied(n)} {
			for _, after := range networks {
				isGiven := func(leaf string) bool {
					if before.valueAt(leaf) == after.valueAt(leaf) {
						return false
					}
					its, _ := c.ask(leaf, before, after)
					return its == class
				}
				if slices.ContainsFunc(leaves, isGiven) {
					return true
				}
			}
		}
	}
	return false
}
