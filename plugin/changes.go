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

// Meaning is what it means for a running network when a value of its config changes.
type Meaning[C any] struct {
	Class ChangeClass
	// Reason is one sentence.
	Reason string
	// Judge, if there is one, decides instead, by what was and will be in force.
	Judge func(before, after *C) (ChangeClass, string)
}

// Meanings has an entry for every value of a config, by path in JSON spelling; an entry
// for a block is for all values in it.
type Meanings[C any] map[string]Meaning[C]

// Classify classifies the change of a value of the config.
func (m Meanings[C]) Classify(path string, before, after *C) (ChangeClass, string) {
	found, ok := Nearest(m, path)
	switch {
	case !ok:
		return "", ""
	case found.Judge != nil:
		return found.Judge(before, after)
	default:
		return found.Class, found.Reason
	}
}
