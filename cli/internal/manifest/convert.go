// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	kjson "sigs.k8s.io/json"
)

// maxDepth is how deep a document may be nested. Shoots have about 15 levels.
const maxDepth = 100

// mostNamed is how many names of a path are told.
const mostNamed = 8

// noDocumentStart ends the YAML library's error about a text that goes on after the
// end of a document.
const noDocumentStart = "did not find expected <document start>"

var (
	errSize = fmt.Errorf("grows beyond %d MiB when its aliases are replaced", maxBytes>>20)
	errMore = errors.New("cannot be read as YAML: more follows after its end; begin another document with a line that says ---")
)

// fromYAML makes a decoded YAML value one that JSON has. Aliases are measured before
// anything is copied for them.
func fromYAML(value any) (any, error) {
	budget := maxBytes
	if err := measure(value, 0, &budget); err != nil {
		return nil, err
	}
	return asJSON(value)
}

// asJSON makes a decoded YAML value one that JSON has.
func asJSON(value any) (any, error) {
	switch v := value.(type) {
	case map[any]any:
		object := make(map[string]any, len(v))
		for key, inner := range v {
			name, err := keyName(key)
			if err != nil {
				return nil, err
			}
			if _, twice := object[name]; twice {
				return nil, &misfit{what: fmt.Sprintf("key %q already set in map", name)}
			}
			object[name] = inner
		}
		for _, name := range slices.Sorted(maps.Keys(object)) { // so that of several errors it is always the same
			var err error
			if object[name], err = asJSON(object[name]); err != nil {
				return nil, beneath(name, err)
			}
		}
		return object, nil
	case []any:
		for i := range v {
			var err error
			if v[i], err = asJSON(v[i]); err != nil {
				return nil, beneath(strconv.Itoa(i), err)
			}
		}
	case float64:
		if math.IsInf(v, 0) || math.IsNaN(v) {
			return nil, &misfit{what: "JSON has no infinite or undefined numbers"}
		}
	}
	return value, nil
}

// keyName is a key as JSON has it, where all of them are strings.
func keyName(key any) (string, error) {
	switch k := key.(type) {
	case string:
		return k, nil
	case int, int64, uint64, float64, bool:
		return fmt.Sprint(k), nil
	case nil:
		return "", &misfit{what: "a key must be a string, not null"}
	}
	return "", &misfit{what: "a key must be a string, not a list or an object"}
}

// misfit is a value that JSON does not have.
type misfit struct {
	path []string // from the innermost name to the outermost one
	what string
}

func (m *misfit) Error() string {
	names := slices.Clone(m.path)
	slices.Reverse(names)
	if len(names) > mostNamed {
		names = append(names[:mostNamed], "…")
	}
	where := strings.Join(names, ".")
	if where != "" {
		where = " at " + where
	}
	return "cannot be read as YAML" + where + ": " + m.what
}

// beneath is an error about a value of this name.
func beneath(name string, err error) error {
	if m, ok := err.(*misfit); ok {
		m.path = append(m.path, name)
	}
	return err
}

// fromJSON decodes a document, with the same checks as fromYAML.
func fromJSON(raw []byte) (any, error) {
	var value any
	strict, err := kjson.UnmarshalStrict(raw, &value)
	if err != nil {
		return nil, err
	}
	budget := maxBytes
	if err := measure(value, 0, &budget); err != nil {
		return nil, err
	}
	return value, errors.Join(strict...)
}

// measure walks a decoded document and charges its size to the budget.
func measure(value any, depth int, budget *int) error {
	if depth > maxDepth {
		return &misfit{what: fmt.Sprintf("it is nested more than %d levels deep", maxDepth)}
	}
	if *budget--; *budget < 0 {
		return errSize
	}
	switch v := value.(type) {
	case string:
		*budget -= len(v)
	case []any:
		for i, inner := range v {
			if err := measure(inner, depth+1, budget); err != nil {
				return beneath(strconv.Itoa(i), err)
			}
		}
	case map[any]any:
		for key, inner := range v {
			if err := measure(key, depth+1, budget); err != nil {
				return err
			}
			if err := measure(inner, depth+1, budget); err != nil {
				return beneath(fmt.Sprint(key), err)
			}
		}
	case map[string]any:
		for name, inner := range v {
			*budget -= len(name)
			if err := measure(inner, depth+1, budget); err != nil {
				return beneath(name, err)
			}
		}
	}
	if *budget < 0 {
		return errSize
	}
	return nil
}

// plain words an error of the YAML library on one line, without its name.
func plain(err error) error {
	message := err.Error()
	for _, prefix := range []string{"yaml: ", "unmarshal errors:"} {
		message = strings.TrimPrefix(message, prefix)
	}
	return errors.New("cannot be read as YAML: " + strings.Join(strings.Fields(message), " "))
}
