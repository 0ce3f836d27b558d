// SPDX-License-Identifier: Apache-2.0

package plugintest

import (
	"testing"

	. "github.com/onsi/gomega"

	"github.com/trellis-network/trellis/plugin"
)

// transiting is a Transitioner.
type transiting struct {
	*fake[config]
	steps func(before, after *config) []plugin.Step[config]
}

func (t transiting) Transition(before, after plugin.State[config]) []plugin.Step[config] {
	return t.steps(before.Config, after.Config)
}

// steps makes changes of the MTU by way of others.
func steps(steps func(before, after *config) []plugin.Step[config]) func() plugin.Plugin {
	return func() plugin.Plugin {
		return plugin.New[config](transiting{sound(), func(before, after *config) []plugin.Step[config] {
			if before.MTU == nil || after.MTU == nil || *before.MTU == *after.MTU {
				return nil
			}
			return steps(before, after)
		}})
	}
}

// by are the steps by way of an MTU, unless the network has it.
func by(mtu int32, names ...string) func(before, after *config) []plugin.Step[config] {
	return func(before, after *config) []plugin.Step[config] {
		between := *after
		between.MTU = &mtu
		all := []plugin.Step[config]{{Name: names[0], Config: &between}, {Name: names[1], Config: after}}
		if *before.MTU == mtu {
			return all[1:]
		}
		return all
	}
}

// brokenTransitions have steps that the pipeline cannot make.
var brokenTransitions = []broken{
	{check: "transitions", how: "a step without a name", says: "a step of Transition has no name", plugin: steps(by(1300, "", "last"))},
	{check: "transitions", how: "two steps of one name", says: `two steps named "a"`, plugin: steps(by(1300, "a", "a"))},
	{check: "transitions", how: "an invalid step", says: `the step "a" is invalid: spec.providerConfig.mtu: Invalid value: 12`, plugin: steps(by(12, "a", "last"))},
	{check: "transitions", how: "a disruptive step", says: `the step "a" is disruptive: a change of mode is disruptive: agents notice`, plugin: steps(func(_, after *config) []plugin.Step[config] {
		between, mode := *after, "routed"
		if *after.Mode == mode {
			mode = "tunnel"
		}
		between.Mode = &mode
		return []plugin.Step[config]{{Name: "a", Config: &between}, {Name: "last", Config: after}}
	})},
	{check: "transitions", how: "another end", says: "or the last one is not what the spec asks for", plugin: steps(func(before, _ *config) []plugin.Step[config] {
		return []plugin.Step[config]{{Name: "last", Config: before}}
	})},
	{check: "transitions", how: "other steps once one is taken", says: `from the step "a" on, Transition has other steps than before`, plugin: steps(func(before, after *config) []plugin.Step[config] {
		all := by(1300, "a", "last")(before, after)
		if len(all) > 1 {
			return all
		}
		return by(1310, "c", "last")(before, after)
	})},
	{check: "transitions", how: "half a precondition", says: `the precondition of the step "last" lacks`, plugin: steps(func(before, after *config) []plugin.Step[config] {
		all := by(1300, "a", "last")(before, after)
		all[len(all)-1].Precondition = &plugin.Precondition{Condition: "Prepared"}
		return all
	})},
}

func TestASoundTransitionPassesAllChecks(t *testing.T) {
	NewWithT(t).Expect(problems(t, steps(by(1300, "a", "last"))(), soundOptions())).To(BeEmpty())
}
