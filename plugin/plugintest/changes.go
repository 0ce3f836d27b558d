// SPDX-License-Identifier: Apache-2.0

package plugintest

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/trellis-network/trellis/plugin"
)

var classes = []plugin.ChangeClass{plugin.Safe, plugin.Rolling, plugin.Disruptive, plugin.Forbidden}

// changes: users are told what a change means before they make it.
func changes(s *suite, found *report) {
	for _, v := range s.values {
		if v.inList {
			continue
		}
		for _, path := range v.paths() {
			// Networks of old releases may have any value or none.
			for _, in := range s.clusters() {
				if in.with == nil {
					facts := in.input(s.plugin.FeatureGates, nil)
					s.checkClass(found, path, s.classIn(s.nothing(), s.nothing(), &facts, &facts), nothingSet)
				}
			}
		}
	}
	facts := s.clusters()[0].input(s.plugin.FeatureGates, nil)
	if class, _ := s.plugin.Classify("noSuchField", s.nothing(), s.nothing(), &facts, &facts); class != "" {
		found.breach("Classify knows noSuchField, which is no field, as %s; return no class for a path that it does not know, so that a new field is noticed", class)
	}
	s.checkTransitions(found)
	s.checkFacts(found)
	s.checkDeclared(found)
}

// nothing is a config in which nothing is set.
func (s *suite) nothing() any { return reflect.New(s.config).Interface() }

func nothingSet() string { return "between configs in which nothing is set" }

// classIn says what a change at a path means between two networks.
func (s *suite) classIn(before, after any, then, now *plugin.Input) func(string) (plugin.ChangeClass, string) {
	return func(path string) (plugin.ChangeClass, string) {
		return s.plugin.Classify(path, before, after, then, now)
	}
}

// checkClass looks at what classify says of a change at path; between says of which.
func (s *suite) checkClass(found *report, path string, classify func(string) (plugin.ChangeClass, string), between func() string) {
	defer found.survive("a change of " + path)
	class, reason := classify(path)
	switch {
	case class == "":
		found.breach("Classify has no class for %s; say what a change of it means for a running network", path)
	case !slices.Contains(classes, class):
		found.breach("Classify has the class %q for %s %s; there are %v", class, path, between(), classes)
	case strings.TrimSpace(reason) == "":
		found.breach("Classify has no reason why a change of %s is %s %s; say in one sentence what happens", path, class, between())
	case strings.HasSuffix(reason, "."):
		found.breach("the reason of Classify for %s ends with a period: %q; it stands within a sentence", path, reason)
	default:
		s.note(found, path, class)
	}
}

// state is what is in force in a network.
type state struct {
	network
	config any
	leaves map[string]string
}

// checkTransitions classifies what really changes from each case to each other one, and
// from each combination of IP families to each other one.
func (s *suite) checkTransitions(found *report) {
	var states []state
	for _, n := range s.plainNetworks() {
		if one, ok := s.inForce(n); ok { // else it is the promise defaults
			one.leaves = flatten(n.result.Config)
			states = append(states, one)
		}
	}
	for _, before := range states {
		for _, after := range states {
			if before.caseName == after.caseName || before.cluster.name == after.cluster.name {
				s.checkTransition(found, before, after)
			}
		}
	}
}

func (s *suite) checkTransition(found *report, before, after state) {
	all := maps.Clone(before.leaves)
	maps.Copy(all, after.leaves)
	classify := s.classIn(before.config, after.config, inputOf(&before.request), inputOf(&after.request))
	between := func() string {
		return fmt.Sprintf("between %s and %s", s.encoded(before.config), s.encoded(after.config))
	}
	for _, path := range slices.Sorted(maps.Keys(all)) {
		if before.leaves[path] != after.leaves[path] {
			s.checkClass(found, path, classify, between)
		}
	}
}
