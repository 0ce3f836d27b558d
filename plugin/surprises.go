// SPDX-License-Identifier: Apache-2.0

package plugin

import "k8s.io/apimachinery/pkg/util/validation/field"

// Surprise is a combination of values that are all in force and together do not do
// what one would think.
type Surprise[C any] struct {
	// Path of the field to warn at, for example overlay.enabled.
	Path    string
	Happens func(effective *C, facts *Facts) bool
	// Message says what happens in fact, and what to write instead.
	Message string
}

// Surprises are those that a plugin knows of.
type Surprises[C any] []Surprise[C]

// Warn warns of those that happen. root is where the config stands.
func (s Surprises[C]) Warn(found *Findings, effective *C, facts *Facts, root *field.Path) {
	for _, each := range s {
		if each.Happens(effective, facts) {
			found.Warn(At(root, each.Path), each.Message)
		}
	}
}
