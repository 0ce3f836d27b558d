// SPDX-License-Identifier: Apache-2.0

package plugintest

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/trellis-network/trellis/plugin"
)

var classes = []plugin.ChangeClass{plugin.Safe, plugin.Rolling, plugin.Disruptive, plugin.Forbidden}

// changes: every change that matters to users has a class and a reason.
func changes(s *suite, found *report) {
	c := &classification{suite: s, report: found, given: sets.New[given]()}
	for _, in := range clustersFor(s.plugin) {
		if in.with != nil {
			continue
		}
		// Networks of old releases may have any value or none.
		empty := emptied(s, network{name: "a cluster with " + in.name + " and no config", request: s.request(Case{}, in)})
		for _, v := range s.values {
			for _, path := range v.paths() {
				if !v.inList && c.classify(path, empty, empty) == "" {
					found.breach("Classify has no class for %s; say what a change of it means for a running network", path)
				}
			}
		}
		if class, _ := s.plugin.Classify("noSuchField", empty.config, empty.config, empty.input(), empty.input()); class != "" {
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
	// given are the classes that Classify gave.
	given sets.Set[given]
}

// given is a class that Classify gave for a path.
type given struct {
	path  string
	class plugin.ChangeClass
}

// emptied is a network in which no value is set.
func emptied(s *suite, n network) network {
	n.config, n.inForce = reflect.New(s.config).Interface(), nil
	return n
}

// classify returns the class of a change at path, and checks what Classify says.
func (c *classification) classify(path string, before, after network) plugin.ChangeClass {
	c.where = fmt.Sprintf("a change of %s from %q, in %s, to %q, in %s", path, before.valueAt(path), before.name, after.valueAt(path), after.name)
	class, reason := c.plugin.Classify(path, before.config, after.config, before.input(), after.input())
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

// checkTransitions classifies what really changes from each case to each other one, and
// from each combination of IP families to each other one.
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

// checkDeclared finds classes that are declared and that Classify never gives, and
// declared paths that do not exist.
func (c *classification) checkDeclared() {
	c.where = ""
	var leaves []string
	for _, v := range c.values {
		leaves = append(leaves, v.paths()...)
	}
	for _, fact := range plugin.AllFacts() {
		leaves = append(leaves, string(fact))
	}
	missing := map[given][]string{} // the leaves that it is declared for
	for path, possible := range c.plugin.Changes {
		of := slices.DeleteFunc(slices.Clone(leaves), func(leaf string) bool { return leaf != path && !strings.HasPrefix(leaf, path+".") })
		if len(of) == 0 {
			c.breach("the Changes of Description declare %s, which is neither a field nor a fact; remove it", path)
		}
		for _, one := range possible {
			if !slices.ContainsFunc(of, func(leaf string) bool { return c.given.Has(given{leaf, one.Class}) }) {
				missing[given{path, one.Class}] = of
			}
		}
	}
	c.search(missing)
	for one := range missing {
		c.breach("the Changes of Description declare that a change of %s can be %s, and Classify never says so; remove it, or add Cases between which it does", one.path, one.class)
	}
}

// search removes from missing what Classify gives between any two networks, of which one
// may be of a release that kept no config.
func (c *classification) search(missing map[given][]string) {
	networks := slices.DeleteFunc(slices.Concat(c.drawn(), c.varied(), c.networks()), func(n network) bool { return !n.renders() || n.config == nil })
	for i := range networks {
		for _, before := range []network{networks[i], emptied(c.suite, networks[i])} {
			for _, after := range networks {
				if len(missing) == 0 {
					return
				}
				maps.DeleteFunc(missing, func(one given, leaves []string) bool {
					return slices.ContainsFunc(leaves, func(leaf string) bool { return c.isGiven(given{leaf, one.class}, before, after) })
				})
			}
		}
	}
}

// isGiven reports whether Classify gives a class for a path that differs between networks.
func (c *classification) isGiven(wanted given, before, after network) bool {
	if before.valueAt(wanted.path) == after.valueAt(wanted.path) {
		return false
	}
	class, _ := c.plugin.Classify(wanted.path, before.config, after.config, before.input(), after.input())
	return class == wanted.class
}
