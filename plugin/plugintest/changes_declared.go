// SPDX-License-Identifier: Apache-2.0

package plugintest

import (
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"

	"github.com/trellis-network/trellis/plugin"
)

// steps is how many changes between networks are tried at most for a class that is
// declared.
const steps = 20_000

// note remembers a class that Classify gave, which must be a declared one.
func (s *suite) note(found *report, path string, class plugin.ChangeClass) {
	possible, _ := plugin.Nearest(s.plugin.Changes, path)
	if !slices.ContainsFunc(possible, func(p plugin.PossibleChange) bool { return p.Class == class }) {
		found.breach("Classify says that a change of %s can be %s, and the Changes of Description do not; declare it, since users are told of those", path, class)
	}
	s.given[given{path, class}] = true
}

// given is a class that Classify gave for a path.
type given struct {
	path  string
	class plugin.ChangeClass
}

// checkDeclared looks for classes that are declared and that Classify never gives, and for
// declared paths that there are not.
func (s *suite) checkDeclared(found *report) {
	var leaves []string
	for _, v := range s.values {
		leaves = append(leaves, v.paths()...)
	}
	for _, fact := range plugin.AllFacts() {
		leaves = append(leaves, string(fact))
	}
	missing := map[given][]string{} // the leaves that it is declared for
	for path, possible := range s.plugin.Changes {
		of := slices.DeleteFunc(slices.Clone(leaves), func(leaf string) bool {
			_, of := plugin.Nearest(map[string]bool{path: true}, leaf)
			return !of
		})
		if len(of) == 0 {
			found.breach("the Changes of Description declare %s, which is neither a field nor a fact; remove it", path)
		}
		for _, one := range possible {
			if !slices.ContainsFunc(of, func(leaf string) bool { return s.given[given{leaf, one.Class}] }) {
				missing[given{path, one.Class}] = of
			}
		}
	}
	s.search(missing)
	for one := range missing {
		found.breach("the Changes of Description declare that a change of %s can be %s, and Classify never says so; remove it, or add Cases between which it does", one.path, one.class)
	}
}

// search removes from missing what Classify gives between any two networks, of which one
// may be of a release that kept no config.
func (s *suite) search(missing map[given][]string) {
	if len(missing) == 0 {
		return
	}
	var states []state
	for _, n := range slices.Concat(s.networks(), s.varied(), s.drawn()) {
		if one, ok := s.inForce(n); ok && n.renders() {
			one.leaves = flatten(n.result.Config)
			states = append(states, one)
		}
	}
	if len(states) == 0 {
		return
	}
	random := rand.New(rand.NewPCG(5, 6))
	for step := range steps {
		before, after := states[random.IntN(len(states))], states[random.IntN(len(states))]
		if step%100 == 0 {
			before.config, before.leaves = s.nothing(), nil
		}
		then, now := inputOf(&before.request), inputOf(&after.request)
		maps.DeleteFunc(missing, func(one given, leaves []string) bool {
			return slices.ContainsFunc(leaves, func(leaf string) bool {
				fact := plugin.Fact(leaf)
				if before.leaves[leaf] == after.leaves[leaf] && reflect.DeepEqual(then.Value(fact), now.Value(fact)) {
					return false
				}
				class, _ := s.plugin.Classify(leaf, before.config, after.config, then, now)
				return class == one.class
			})
		})
	}
}
