// SPDX-License-Identifier: Apache-2.0

package plugin

// Change is a value of the config, or a fact, that differs from what was applied last.
type Change[C any] struct {
	// Path is a field of the config in JSON spelling, for example overlay.enabled, or a
	// Fact.
	Path string
	// Before is the network as it was applied, After as it will be.
	Before, After State[C]
}

// State is a network at one time.
type State[C any] struct {
	// Config is in force.
	Config *C
	// Input has the facts of that time. Its environment and decisions are today's, before
	// a change as well.
	*Input
}

// PossibleChange is what some changes of a value of the config, or of a fact, mean for a
// running network.
type PossibleChange struct {
	Class ChangeClass
	// Reason is one sentence without a period.
	Reason string
	// When completes "Class: Reason" for users, such as "if the network loses IPv4". Empty
	// stands for all changes that no other entry of the path is about.
	When string
}

// ChangeRule is a PossibleChange that a plugin can recognize.
type ChangeRule[C any] struct {
	Class  ChangeClass
	Reason string
	When   string
	// If reports whether the rule applies; nil means always.
	If func(Change[C]) bool
}

// ChangePolicy has the rules for each path; the first that applies decides. An entry for
// a block is for all values in it that have none of their own.
type ChangePolicy[C any] map[string][]ChangeRule[C]

// Classify is a Definition's Classify.
func (p ChangePolicy[C]) Classify(change Change[C]) (ChangeClass, string) {
	rules, _ := Nearest(p, change.Path)
	for _, rule := range rules {
		if rule.If == nil || rule.If(change) {
			return rule.Class, rule.Reason
		}
	}
	return "", ""
}

// Possible is a Description's Changes.
func (p ChangePolicy[C]) Possible() map[string][]PossibleChange {
	possible := make(map[string][]PossibleChange, len(p))
	for path, rules := range p {
		for _, rule := range rules {
			possible[path] = append(possible[path], PossibleChange{rule.Class, rule.Reason, rule.When})
		}
	}
	return possible
}
