// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/trellis-network/trellis/plugin"
)

// warnOverridden warns of each value of the user that another value overrides, with the
// reason that the defaults gave. The pipeline does this for all plugins, so that no rule of
// theirs can lack its warning.
func (b *build) warnOverridden() {
	for _, path := range slices.Sorted(maps.Keys(b.byUser)) {
		wrote := b.byUser[path]
		value, has := b.result.Values[path]
		if isNothing(wrote) || has && reflect.DeepEqual(value, wrote) {
			continue
		}
		message := fmt.Sprintf("%v has no effect", wrote)
		if has {
			message = fmt.Sprintf("%v is not in force, %v is", wrote, value)
		}
		if origin, ok := plugin.Nearest(b.noted, path); ok {
			message += ": " + origin.Reason
		}
		b.Warn(plugin.At(b.paths.config, path), message)
	}
}

// isNothing reports whether a value states nothing that could be in force.
func isNothing(value any) bool {
	if value == nil || value == "" {
		return true
	}
	object, ok := value.(map[string]any)
	return ok && len(object) == 0
}
