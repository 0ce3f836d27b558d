// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// OrDefault returns the value of a field of a config. A field that the user left out gets
// this value.
func OrDefault[T any](field **T, value T) *T {
	if *field == nil {
		*field = &value
	}
	return *field
}

// OneOf adds an error for a value that is there and not among those allowed.
func OneOf[T ~string](found *Findings, path *field.Path, value *T, allowed ...T) {
	if value == nil || slices.Contains(allowed, *value) {
		return
	}
	names := make([]string, 0, len(allowed))
	for _, name := range allowed {
		names = append(names, string(name))
	}
	found.Error(field.Invalid(path, string(*value), "must be one of "+strings.Join(names, ", ")))
}
