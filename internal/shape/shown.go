// SPDX-License-Identifier: Apache-2.0

package shape

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// mostShown is how much of a value is worth reading in a message.
const mostShown = 64

// Shown is a JSON value as it stands in an error. Of what is long, the beginning
// stands there, and an ellipsis for the rest.
func Shown(raw json.RawMessage) any {
	if isNumber(raw) {
		return json.Number(raw)
	}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	var value any
	if decoder.Decode(&value) != nil {
		return Abbreviate(string(raw))
	}
	budget := mostShown
	return abbreviated(value, &budget)
}

// isNumber says whether a JSON value is a number that can be shown as it is.
func isNumber(raw json.RawMessage) bool {
	return len(raw) > 0 && len(raw) <= mostShown && (raw[0] == '-' || raw[0] >= '0' && raw[0] <= '9') && json.Valid(raw)
}

const ellipsis = "…"

// abbreviated copies a value as far as the budget reaches.
func abbreviated(value any, budget *int) any {
	switch v := value.(type) {
	case string:
		*budget -= len(v)
		return Abbreviate(v)
	case json.Number:
		if *budget -= len(v); len(v) > mostShown {
			return Abbreviate(string(v))
		}
		return v
	case []any:
		*budget -= 2
		list := []any{}
		for _, item := range v {
			if *budget <= 0 {
				return append(list, ellipsis)
			}
			list = append(list, abbreviated(item, budget))
		}
		return list
	case map[string]any:
		*budget -= 2
		object := map[string]any{}
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if *budget <= 0 {
				object[ellipsis] = ellipsis
				break
			}
			*budget -= len(name)
			object[Abbreviate(name)] = abbreviated(v[name], budget)
		}
		return object
	}
	return value
}

// Abbreviate cuts what is too long for a message.
func Abbreviate(text string) string {
	if len(text) <= mostShown {
		return strings.ToValidUTF8(text, "\ufffd")
	}
	return strings.ToValidUTF8(text[:mostShown], "") + ellipsis
}

// child is the path of a field. A name that would read like a path of its own is
// put in brackets.
func child(path *field.Path, name string) *field.Path {
	name = Abbreviate(name)
	switch {
	case path == nil:
		return field.NewPath(name)
	case name == "" || strings.ContainsAny(name, "./[] "):
		return path.Key(name)
	default:
		return path.Child(name)
	}
}

func orRoot(path *field.Path) *field.Path {
	if path == nil {
		return field.NewPath("document")
	}
	return path
}
