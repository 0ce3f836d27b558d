// SPDX-License-Identifier: Apache-2.0

package plugin

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

// Classify is what Definition.Classify asks for.
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
