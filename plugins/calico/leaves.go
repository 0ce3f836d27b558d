// SPDX-License-Identifier: Apache-2.0

package calico

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/trellis-network/trellis/plugins/calico/v1alpha1"
)

// leavesOf returns the values of a config by dotted path, in JSON spelling. What
// is absent has no path.
func leavesOf(config *v1alpha1.NetworkConfig) map[string]any {
	var document map[string]any
	raw, err := json.Marshal(config)
	if err == nil {
		err = json.Unmarshal(raw, &document)
	}
	if err != nil {
		return nil // no NetworkConfig that was decoded from JSON comes here
	}
	delete(document, "apiVersion")
	delete(document, "kind")
	leaves := map[string]any{}
	collectLeaves(leaves, "", document)
	return leaves
}

func collectLeaves(into map[string]any, prefix string, object map[string]any) {
	for name, value := range object {
		if inner, ok := value.(map[string]any); ok {
			collectLeaves(into, prefix+name+".", inner)
			continue
		}
		into[prefix+name] = value
	}
}

// nearest returns the entry for path, or else for the innermost block around it
// that has one.
func nearest[T any](byPath map[string]T, path string) (T, bool) {
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

func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }
