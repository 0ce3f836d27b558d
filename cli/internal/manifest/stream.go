// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v2"
	kjson "sigs.k8s.io/json"
)

const (
	// MaxBytes is the size of an input at most, and what it may grow to when its
	// aliases are replaced. An API server takes 3 MiB in one request.
	MaxBytes = 8 << 20
	// maxDocuments is how many documents an input may have.
	maxDocuments = 1000
	// maxDepth is how deep a document may be nested. Shoots have about 15 levels.
	maxDepth = 100
)

// document is one document of a stream: its JSON value, or why it has none.
type document struct {
	value any
	err   error
}

// decode returns the documents of a text that are not empty. An error is about the whole text.
func decode(text []byte) ([]document, error) {
	if len(text) > MaxBytes {
		return nil, fmt.Errorf("is larger than %d MiB", MaxBytes>>20)
	}
	if !utf8.Valid(text) || bytes.IndexByte(text, 0) >= 0 {
		at := bytes.IndexFunc(text, func(r rune) bool { return r == utf8.RuneError || r == 0 })
		return nil, fmt.Errorf("is not text in UTF-8: byte %d is %#02x", at+1, text[at])
	}
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	documents := fromJSON(text)
	if documents == nil {
		documents = fromYAML(text)
	}
	switch {
	case len(documents) == 0:
		return nil, errors.New("has no document; provide a Network, a Shoot, or both")
	case len(documents) > maxDocuments:
		return nil, fmt.Errorf("has more than %d documents", maxDocuments)
	}
	return documents, nil
}

// fromJSON decodes JSON objects, one after the other. It returns nil for any other text.
func fromJSON(text []byte) []document {
	if !bytes.HasPrefix(bytes.TrimSpace(text), []byte("{")) {
		return nil
	}
	var documents []document
	for decoder := json.NewDecoder(bytes.NewReader(text)); len(documents) <= maxDocuments; {
		var raw json.RawMessage
		if err := decoder.Decode(&raw); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil
		}
		var value any
		duplicates, err := kjson.UnmarshalStrict(raw, &value)
		documents = append(documents, checked(value, errors.Join(append(duplicates, err)...)))
	}
	return documents
}

// placeholder is a line that stands for what a document leaves out, and that YAML takes for the
// end of a document or for a value.
var placeholder = regexp.MustCompile(`(?m)^\s*\.\.\.\s*$`)

// fromYAML decodes YAML documents, at most one more than an input may have.
func fromYAML(text []byte) []document {
	var documents []document
	notYAML := func(reason string) error {
		if placeholder.Match(text) {
			reason += "; if lines with ... stand for something, write that instead, or remove them"
		}
		return errors.New("cannot be read as YAML: " + reason)
	}
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	decoder.SetStrict(true) // a field must not occur twice
	for len(documents) <= maxDocuments {
		var value any
		err := decoder.Decode(&value)
		var misfit *yaml.TypeError
		switch {
		case errors.Is(err, io.EOF):
			return documents
		case errors.As(err, &misfit):
			err = notYAML(strings.Join(misfit.Errors, "; "))
		case err != nil:
			if len(documents) > 0 && placeholder.Match(text) && strings.Contains(err.Error(), noStart) {
				// This is the rest of the manifest before, which a placeholder has cut off.
				documents = documents[:len(documents)-1]
			}
			return append(documents, document{err: notYAML(readable.Replace(err.Error()))})
		}
		if value != nil || err != nil {
			documents = append(documents, checked(value, err))
		}
	}
	return documents
}

// noStart is the error of the YAML library for what follows after the end of a document.
const noStart = "did not find expected <document start>"

// readable words errors of the YAML library for users.
var readable = strings.NewReplacer("yaml: ", "", noStart,
	"more follows after the end of a document; separate documents by a line with ---")

// checked returns the document with a decoded value.
func checked(value any, err error) document {
	if err == nil {
		budget := MaxBytes
		value, err = asJSON(nil, value, &budget)
	}
	return document{value, err}
}

// asJSON converts the value at path to one that JSON has, and charges its size to the
// budget: an alias counts like the value that it refers to.
func asJSON(path []string, value any, budget *int) (any, error) {
	refuse := func(reason string) (any, error) {
		return nil, fmt.Errorf("cannot be read as YAML at %s: %s", strings.Join(append([]string{"$"}, path...), "."), reason)
	}
	if len(path) > maxDepth {
		return refuse(fmt.Sprintf("it is nested more than %d levels deep", maxDepth))
	}
	*budget--
	var err error
	switch v := value.(type) {
	case string:
		*budget -= len(v)
	case float64:
		if math.IsInf(v, 0) || math.IsNaN(v) {
			return refuse("JSON has no infinite or undefined numbers")
		}
	case []any:
		for i := range v {
			if v[i], err = asJSON(append(path, strconv.Itoa(i)), v[i], budget); err != nil {
				return nil, err
			}
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) { // so that the first error is always the same
			*budget -= len(name)
			if v[name], err = asJSON(append(path, name), v[name], budget); err != nil {
				return nil, err
			}
		}
	case map[any]any:
		object := make(map[string]any, len(v))
		for key, inner := range v {
			name := fmt.Sprint(key)
			if _, twice := object[name]; twice || key == nil {
				return refuse("a key must be a string that occurs once")
			}
			object[name] = inner
		}
		return asJSON(path, object, budget)
	}
	if *budget < 0 {
		return nil, fmt.Errorf("grows beyond %d MiB when its aliases are replaced", MaxBytes>>20)
	}
	return value, nil
}
