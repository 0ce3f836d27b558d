// SPDX-License-Identifier: Apache-2.0

package fielderror

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// maxLength is how many bytes of a value an error message shows.
const maxLength = 64

// AbbreviateJSON returns the value of a JSON document as field errors take it. A long
// value is cut, and ends with an ellipsis.
func AbbreviateJSON(raw json.RawMessage) any {
	if isNumber(raw) {
		return json.Number(raw)
	}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	var value any
	if decoder.Decode(&value) != nil {
		return Abbreviate(string(raw))
	}
	budget := maxLength
	return abbreviated(value, &budget)
}

// isNumber reports whether a JSON value is a number that is short enough to be shown.
func isNumber(raw json.RawMessage) bool {
	return len(raw) > 0 && len(raw) <= maxLength && (raw[0] == '-' || raw[0] >= '0' && raw[0] <= '9') && json.Valid(raw)
}

const ellipsis = "…"

// abbreviated copies a value as far as the budget reaches.
func abbreviated(value any, budget *int) any {
	switch v := value.(type) {
	case string:
		*budget -= len(v)
		return Abbreviate(v)
	case json.Number:
		if *budget -= len(v); len(v) > maxLength {
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

// Abbreviate cuts a text that is too long for an error message.
func Abbreviate(text string) string {
	if len(text) <= maxLength {
		return strings.ToValidUTF8(text, "\ufffd")
	}
	return strings.ToValidUTF8(text[:maxLength], "") + ellipsis
}
