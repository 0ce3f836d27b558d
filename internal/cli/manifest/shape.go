// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// shape compares a decoded document with the Go type that it is meant for, and
// finds all fields that have another type or no place in it.
type shape struct {
	// strict makes an error of every unknown field. Otherwise only those are that
	// differ from a known one in capitals alone: they are misspelt.
	strict bool
	errs   field.ErrorList
}

const mustBeString = "must be a string"

var unmarshaler = reflect.TypeFor[json.Unmarshaler]()

func (s *shape) check(path *field.Path, value any, t reflect.Type) {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if value == nil {
		return
	}
	if reflect.PointerTo(t).Implements(unmarshaler) {
		s.checkEncoded(path, value, t)
		return
	}
	switch t.Kind() {
	case reflect.Struct:
		s.checkStruct(path, value, t)
	case reflect.Map:
		if object, ok := value.(map[string]any); ok {
			for _, name := range slices.Sorted(maps.Keys(object)) {
				s.check(path.Key(name), object[name], t.Elem())
			}
			return
		}
		s.wrong(path, value, "must be an object")
	case reflect.Slice:
		if list, ok := value.([]any); ok {
			for i, item := range list {
				s.check(path.Index(i), item, t.Elem())
			}
			return
		}
		s.wrong(path, value, "must be a list")
	default:
		s.checkScalar(path, value, t)
	}
}

func (s *shape) checkStruct(path *field.Path, value any, t reflect.Type) {
	object, ok := value.(map[string]any)
	if !ok {
		s.wrong(path, value, "must be an object")
		return
	}
	known := fieldsOf(t)
	for _, name := range slices.Sorted(maps.Keys(object)) {
		here := child(path, name)
		if inner, ok := known[name]; ok {
			s.check(here, object[name], inner)
			continue
		}
		meant := ""
		for candidate := range known {
			if strings.EqualFold(candidate, name) {
				meant = candidate
			}
		}
		switch {
		case meant != "":
			s.errs = append(s.errs, field.Invalid(here, name, "is not a field here; write "+meant))
		case s.strict:
			s.errs = append(s.errs, field.Invalid(here, name,
				"is not a field here; there are "+strings.Join(slices.Sorted(maps.Keys(known)), ", ")))
		}
	}
}

// checkEncoded checks a value whose type reads its own encoding.
func (s *shape) checkEncoded(path *field.Path, value any, t reflect.Type) {
	raw, err := json.Marshal(value)
	if err == nil {
		err = json.Unmarshal(raw, reflect.New(t).Interface())
	}
	if err != nil {
		s.errs = append(s.errs, field.Invalid(path, value, fmt.Sprintf("is not a %s: %v", t.Name(), err)))
	}
}

func (s *shape) checkScalar(path *field.Path, value any, t reflect.Type) {
	switch t.Kind() {
	case reflect.String:
		if _, ok := value.(string); !ok {
			s.wrong(path, value, mustBeString)
		}
	case reflect.Bool:
		if _, ok := value.(bool); !ok {
			s.wrong(path, value, "must be true or false")
		}
	case reflect.Int32, reflect.Int64:
		number, ok := value.(int64)
		switch {
		case !ok:
			s.wrong(path, value, "must be a whole number")
		case t.Kind() == reflect.Int32 && (number > math.MaxInt32 || number < math.MinInt32):
			s.errs = append(s.errs, field.Invalid(path, number, fmt.Sprintf("must be from %d to %d", math.MinInt32, math.MaxInt32)))
		}
	}
}

func (s *shape) wrong(path *field.Path, value any, must string) {
	what, shown, hint := "an object", any("{…}"), ""
	switch value.(type) {
	case string:
		what, shown = "a string", value
	case bool:
		what, shown, hint = "true or false", value, "; write it in quotes"
	case int64, float64:
		what, shown, hint = "a number", value, "; write it in quotes"
	case []any:
		what, shown = "a list", "[…]"
	}
	if must != mustBeString {
		hint = ""
	}
	s.errs = append(s.errs, field.TypeInvalid(orRoot(path), shown, must+", not "+what+hint))
}

// fieldsOf are the fields of a struct by their names in JSON.
func fieldsOf(t reflect.Type) map[string]reflect.Type {
	known := map[string]reflect.Type{}
	for f := range t.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case name == "" && f.Anonymous:
			maps.Copy(known, fieldsOf(f.Type))
		case name != "" && name != "-" && f.IsExported():
			known[name] = f.Type
		}
	}
	return known
}

func child(path *field.Path, name string) *field.Path {
	if path == nil {
		return field.NewPath(name)
	}
	return path.Child(name)
}

func orRoot(path *field.Path) *field.Path {
	if path == nil {
		return field.NewPath("document")
	}
	return path
}
