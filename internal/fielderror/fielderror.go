// SPDX-License-Identifier: Apache-2.0

// Package fielderror makes error messages about fields short and helpful: it cuts long
// values, and guesses which name an author meant.
package fielderror

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/pmezard/go-difflib/difflib"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// maxLength is how many bytes of a value an error message shows.
const maxLength = 64

// AbbreviateJSON returns the value of a JSON document as field errors take it. Of a long
// value it returns the beginning of the text, without quotes, and an ellipsis.
func AbbreviateJSON(raw json.RawMessage) any {
	if text := bytes.Trim(raw, `"`); len(text) > maxLength {
		return cut(strings.ReplaceAll(string(text[:maxLength]), `"`, ""))
	}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	var value any
	if decoder.Decode(&value) != nil {
		return Abbreviate(string(raw))
	}
	return value
}

// maxBrief is the length of a value's JSON at most that Brief returns as it is.
const maxBrief = 100

// Brief returns a value, or the beginning of its JSON if it is too long for an error message.
func Brief(value any) any {
	if raw, err := json.Marshal(value); err == nil && len(raw) > maxBrief {
		return AbbreviateJSON(raw)
	}
	return value
}

// Abbreviate cuts a text that is too long for an error message.
func Abbreviate(text string) string {
	if len(text) > maxLength {
		return cut(text[:maxLength])
	}
	return strings.ToValidUTF8(text, "\ufffd")
}

func cut(beginning string) string { return strings.ToValidUTF8(beginning, "") + "…" }

const (
	// longestName is the length of a name that is worth a comparison.
	longestName = 40
	// similar is the part of their letters that names share of which one may mean the other.
	similar = 0.6
)

// Nearest returns the one of the known names that an author who wrote name most likely
// meant, the first of several that are equally near, or nothing if none is near.
func Nearest(name string, known []string) string {
	if len(name) > longestName {
		return ""
	}
	nearest, best := "", similar
	for _, each := range known {
		if shared := difflib.NewMatcher(letters(name), letters(each)).Ratio(); shared > best {
			nearest, best = each, shared
		}
	}
	return nearest
}

// Choices lists known names, and asks for the one of them that an author's words mean, as DidYouMean
// does: "red, blue; did you mean blue?".
func Choices(known []string, words ...string) string {
	return strings.Join(known, ", ") + DidYouMean(known, words...)
}

// DidYouMean returns the end of a message that asks for the known name which is near to the words of an
// author, or nothing if they are near to none, or to several.
func DidYouMean(known []string, words ...string) string {
	meant := map[string]bool{}
	for _, word := range words {
		if near := Nearest(word, known); near != "" {
			meant[near] = true
		}
	}
	if len(meant) != 1 {
		return ""
	}
	return "; did you mean " + slices.Collect(maps.Keys(meant))[0] + "?"
}

// NotSupported is field.NotSupported for the name that an author wrote, and asks for the one that the
// author meant, as DidYouMean does.
func NotSupported(path *field.Path, name string, known []string) *field.Error {
	err := field.NotSupported(path, Abbreviate(name), known)
	err.Detail += DidYouMean(known, name)
	return err
}

// letters ignores case, which authors often confuse.
func letters(name string) []string { return strings.Split(strings.ToLower(name), "") }
