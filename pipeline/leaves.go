// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"encoding/json"
	"strings"
)

// leaves returns the values of a config by dotted path. Lists are values; an
// empty object is one too. apiVersion and kind are not part of it.
func leaves(config json.RawMessage) (map[string]any, error) {
	var document map[string]any
	if err := json.Unmarshal(config, &document); err != nil {
		return nil, err
	}
	delete(document, "apiVersion")
	delete(document, "kind")
	flat := map[string]any{}
	flatten(flat, "", document)
	return flat, nil
}

func flatten(into map[string]any, prefix string, object map[string]any) {
	for name, value := range object {
		path := prefix + name
		if inner, ok := value.(map[string]any); ok && len(inner) > 0 {
			flatten(into, path+".", inner)
			continue
		}
		into[path] = value
	}
}

// withLeaves returns config with the given values put in.
func withLeaves(config json.RawMessage, values map[string]any) (json.RawMessage, error) {
	var document map[string]any
	if err := json.Unmarshal(config, &document); err != nil {
		return nil, err
	}
	for path, value := range values {
		names := strings.Split(path, ".")
		object := document
		for _, name := range names[:len(names)-1] {
			inner, ok := object[name].(map[string]any)
			if !ok {
				inner = map[string]any{}
				object[name] = inner
			}
			object = inner
		}
		object[names[len(names)-1]] = value
	}
	return json.Marshal(document)
}
