// SPDX-License-Identifier: Apache-2.0

package plugin

import "k8s.io/apimachinery/pkg/util/validation/field"

// ConditionalWarning warns of a combination of values that are all in force and together
// do not do what users expect.
type ConditionalWarning[C any] struct {
	// Path of the field to warn at, for example overlay.enabled.
	Path string
	// If reports whether the combination is there.
	If func(effective *C, in *Input) bool
	// Message says what happens instead, and what to write.
	Message string
}

// Warnings are all that a plugin has.
type Warnings[C any] []ConditionalWarning[C]

// Warn adds those that apply to found. root is the path of the config.
func (w Warnings[C]) Warn(found *Findings, effective *C, in *Input, root *field.Path) {
	for _, each := range w {
		if each.If(effective, in) {
			found.Warn(At(root, each.Path), each.Message)
		}
	}
}
