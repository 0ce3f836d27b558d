// SPDX-License-Identifier: Apache-2.0

// Package strictjson checks a JSON document against the Go type that the caller decodes
// it into. It reports every value that does not fit, where a decoder stops at the first
// one. What the values mean is left to the caller.
package strictjson

import (
	"bytes"
	"encoding"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
	kjson "sigs.k8s.io/json"

	"github.com/trellis-network/trellis/internal/fielderror"
)

// Unknown tells Check what to do about fields that a type does not have.
type Unknown int

const (
	// RefuseUnknown makes an error of each.
	RefuseUnknown Unknown = iota
	// RefuseMisspelt makes an error only of those that differ from a known field
	// in nothing but capitals.
	RefuseMisspelt
)

// Check returns an error for each value in a well-formed JSON document that
// cannot be decoded into type t, and for fields that t does not have. Paths
// begin with path, which is nil for a whole document.
func Check(path *field.Path, document []byte, t reflect.Type, unknown Unknown) field.ErrorList {
	c := checker{unknown: unknown}
	c.check(path, document, t)
	return c.errs
}

// mostGuesses is how many errors are worth a guess at what was meant.
const mostGuesses = 100

type checker struct {
	unknown Unknown
	errs    field.ErrorList
}

var (
	jsonUnmarshaler = reflect.TypeFor[json.Unmarshaler]()
	textUnmarshaler = reflect.TypeFor[encoding.TextUnmarshaler]()
)

func (c *checker) check(path *field.Path, raw json.RawMessage, t reflect.Type) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	raw = bytes.TrimSpace(raw)
	switch {
	case string(raw) == "null":
	case decodesItself(t):
		c.checkLeaf(path, raw, t)
	case t.Kind() == reflect.Struct:
		c.checkStruct(path, raw, t)
	case t.Kind() == reflect.Map && t.Key().Kind() == reflect.String:
		c.checkMap(path, raw, t)
	case t.Kind() == reflect.Slice && t.Elem().Kind() != reflect.Uint8:
		c.checkList(path, raw, t)
	default:
		c.checkLeaf(path, raw, t)
	}
}

// decodesItself reports whether values of type t have a decoder of their own.
func decodesItself(t reflect.Type) bool {
	pointer := reflect.PointerTo(t)
	return pointer.Implements(jsonUnmarshaler) || pointer.Implements(textUnmarshaler)
}

func (c *checker) checkStruct(path *field.Path, raw json.RawMessage, t reflect.Type) {
	object, ok := fieldsIn(raw)
	if !ok {
		c.wrong(path, raw, "must be an object")
		return
	}
	known := fieldsOf(t)
	names := slices.Sorted(maps.Keys(known))
	there := strings.Join(names, ", ")
	for _, name := range slices.Sorted(maps.Keys(object)) {
		if inner, ok := known[name]; ok {
			c.check(child(path, name), object[name], inner)
			continue
		}
		if wrong := c.unknownField(name, names, there); wrong != "" {
			c.errs = append(c.errs, field.Invalid(child(path, name), fielderror.AbbreviateJSON(object[name]), "is not a field here; "+wrong))
		}
	}
}

// unknownField says what to write in place of a field that a type does not have,
// or nothing if it may stay.
func (c *checker) unknownField(name string, names []string, there string) string {
	for _, meant := range names {
		if strings.EqualFold(meant, name) {
			return "write " + meant + ": names are case-sensitive"
		}
	}
	if c.unknown == RefuseMisspelt {
		return ""
	}
	if len(c.errs) > mostGuesses {
		return "there are " + there
	}
	if meant := fielderror.Nearest(name, names); meant != "" {
		return "did you mean " + meant + "? There are " + there
	}
	return "there are " + there
}

func (c *checker) checkMap(path *field.Path, raw json.RawMessage, t reflect.Type) {
	object, ok := fieldsIn(raw)
	if !ok {
		c.wrong(path, raw, "must be an object")
		return
	}
	for _, name := range slices.Sorted(maps.Keys(object)) {
		c.check(child(path, name), object[name], t.Elem())
	}
}

func (c *checker) checkList(path *field.Path, raw json.RawMessage, t reflect.Type) {
	var list []json.RawMessage
	if raw[0] != '[' || json.Unmarshal(raw, &list) != nil {
		c.wrong(path, raw, "must be a list")
		return
	}
	for i, item := range list {
		c.check(path.Index(i), item, t.Elem())
	}
}

// checkLeaf decodes a value that has no fields or items of its own.
func (c *checker) checkLeaf(path *field.Path, raw json.RawMessage, t reflect.Type) {
	err := kjson.UnmarshalCaseSensitivePreserveInts(raw, reflect.New(t).Interface())
	switch {
	case err == nil:
	case decodesItself(t):
		c.errs = append(c.errs, field.Invalid(orRoot(path), fielderror.AbbreviateJSON(raw), fmt.Sprintf("is not a %s: %v", t.Name(), err)))
	default:
		c.wrong(path, raw, mustBe(t, raw))
	}
}

// wrong notes a value of another type than it must be.
func (c *checker) wrong(path *field.Path, raw json.RawMessage, must string) {
	is, hint := kindOf(raw), ""
	if must == mustBeString && (is == "a number" || is == "true or false") {
		hint = "; write it in quotes"
	}
	if !strings.HasPrefix(must, "must be "+is) {
		must += ", not " + is
	}
	c.errs = append(c.errs, field.TypeInvalid(orRoot(path), fielderror.AbbreviateJSON(raw), must+hint))
}

const mustBeString = "must be a string"

// mustBe says what is allowed where a value of t is wanted and raw is no such.
func mustBe(t reflect.Type, raw json.RawMessage) string {
	switch kind := t.Kind(); {
	case kind == reflect.String:
		return mustBeString
	case kind == reflect.Bool:
		return "must be true or false"
	case kind >= reflect.Int && kind <= reflect.Int64 && kindOf(raw) == "a number":
		bits := t.Bits() - 1
		return fmt.Sprintf("must be a number without a fraction, from %d to %d", -1<<bits, 1<<bits-1)
	case kind >= reflect.Uint && kind <= reflect.Uintptr && kindOf(raw) == "a number":
		return fmt.Sprintf("must be a number without a fraction, from 0 to %d", ^uint64(0)>>(64-t.Bits()))
	case kind >= reflect.Int && kind <= reflect.Uintptr:
		return "must be a whole number"
	case kind == reflect.Float32, kind == reflect.Float64:
		return "must be a number"
	case kind == reflect.Slice:
		return "must be a string in base64"
	default:
		return "must be " + t.String()
	}
}

// kindOf names the kind of a JSON value.
func kindOf(raw json.RawMessage) string {
	switch raw[0] {
	case '{':
		return "an object"
	case '[':
		return "a list"
	case '"':
		return "a string"
	case 't', 'f':
		return "true or false"
	default:
		return "a number"
	}
}

func fieldsIn(raw json.RawMessage) (object map[string]json.RawMessage, ok bool) {
	return object, raw[0] == '{' && json.Unmarshal(raw, &object) == nil
}

// fieldsOf are the fields of a struct by their names in JSON.
func fieldsOf(t reflect.Type) map[string]reflect.Type {
	known := map[string]reflect.Type{}
	embedded := map[string]reflect.Type{}
	for f := range t.Fields() {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		inner := f.Type
		if inner.Kind() == reflect.Pointer {
			inner = inner.Elem()
		}
		switch {
		case name == "-" && options == "":
		case name == "" && f.Anonymous && inner.Kind() == reflect.Struct:
			maps.Copy(embedded, fieldsOf(inner))
		case !f.IsExported():
		case strings.Contains(options, "string"):
			known[nameOr(name, f.Name)] = reflect.TypeFor[any]() // the decoder looks into the string
		default:
			known[nameOr(name, f.Name)] = f.Type
		}
	}
	for name, inner := range embedded {
		if _, shadowed := known[name]; !shadowed {
			known[name] = inner
		}
	}
	return known
}

func nameOr(name, fallback string) string {
	if name == "" {
		return fallback
	}
	return name
}

// child is the path of a field. A name that would read like a path of its own is
// put in brackets.
func child(path *field.Path, name string) *field.Path {
	name = fielderror.Abbreviate(name)
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
