// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Nearest returns the entry for the field at path, for example overlay.enabled, or
// else for the innermost block around it that has one.
func Nearest[T any](byPath map[string]T, path string) (T, bool) {
	for {
		if found, ok := byPath[path]; ok {
			return found, true
		}
		end := strings.LastIndex(path, ".")
		if end < 0 {
			var none T
			return none, false
		}
		path = path[:end]
	}
}

// At is the path of the field at path, for example overlay.enabled, beneath root.
func At(root *field.Path, path string) *field.Path {
	for _, name := range strings.Split(path, ".") {
		root = root.Child(name)
	}
	return root
}

// Put sets the value at path, for example overlay.enabled, in a config that is decoded
// into maps, and makes the blocks around it. What stands in the place of a block gives way.
func Put(config map[string]any, path string, value any) {
	block, name, nested := strings.Cut(path, ".")
	if !nested {
		config[path] = value
		return
	}
	inner, ok := config[block].(map[string]any)
	if !ok {
		inner = map[string]any{}
		config[block] = inner
	}
	Put(inner, name, value)
}
