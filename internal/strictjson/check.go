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
	"math"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
	kjson "sigs.k8s.io/json"
	typed "sigs.k8s.io/structured-merge-diff/v6/value"

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

// Check returns an error for each value in a well-formed JSON document that cannot be
// decoded into type t, and for fields that t does not have. Paths begin with path, which
// may be nil if the document is an object.
func Check(path *field.Path, document []byte, t reflect.Type, unknown Unknown) field.ErrorList {
	decoder := json.NewDecoder(bytes.NewReader(document))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return field.ErrorList{field.Invalid(path, fielderror.AbbreviateJSON(document), err.Error())}
	}
	c := checker{unknown: unknown}
	c.check(path, value, t)
	return c.errs
}

// mostGuesses is how many errors are worth a guess at what was meant.
const mostGuesses = 100

type checker struct {
	unknown Unknown
	errs    field.ErrorList
}

func (c *checker) check(path *field.Path, value any, t reflect.Type) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	object, isObject := value.(map[string]any)
	list, isList := value.([]any)
	switch kind := t.Kind(); {
	case value == nil:
	case decodesItself(t):
		if err := decode(value, t); err != nil {
			c.errs = append(c.errs, field.Invalid(path, shown(value), fmt.Sprintf("is not a %s: %v", t.Name(), err)))
		}
	case kind == reflect.Struct && isObject:
		c.checkFields(path, object, t)
	case kind == reflect.Map && isObject:
		for _, name := range slices.Sorted(maps.Keys(object)) {
			c.check(child(path, name), object[name], t.Elem())
		}
	case kind == reflect.Slice && isList:
		for i, item := range list {
			c.check(path.Index(i), item, t.Elem())
		}
	case decode(value, t) != nil:
		c.wrongType(path, value, mustBe(t))
	}
}

var (
	jsonUnmarshaler = reflect.TypeFor[json.Unmarshaler]()
	textUnmarshaler = reflect.TypeFor[encoding.TextUnmarshaler]()
)

// decodesItself reports whether values of type t have a decoder of their own.
func decodesItself(t reflect.Type) bool {
	pointer := reflect.PointerTo(t)
	return pointer.Implements(jsonUnmarshaler) || pointer.Implements(textUnmarshaler)
}

func decode(value any, t reflect.Type) error {
	raw, err := json.Marshal(value)
	if err != nil {
		return err
	}
	return kjson.UnmarshalCaseSensitivePreserveInts(raw, reflect.New(t).Interface())
}

// shown returns a value as field errors take it.
func shown(value any) any {
	raw, _ := json.Marshal(value) // fails for no value that comes from JSON
	return fielderror.AbbreviateJSON(raw)
}

func (c *checker) checkFields(path *field.Path, object map[string]any, t reflect.Type) {
	known := typed.TypeReflectEntryOf(t).Fields()
	names := slices.Sorted(maps.Keys(known))
	for _, name := range slices.Sorted(maps.Keys(object)) {
		if f, ok := known[name]; ok {
			c.check(child(path, name), object[name], f.GetFrom(reflect.Zero(t)).Type())
		} else if wrong := c.unknownField(name, names); wrong != "" {
			c.errs = append(c.errs, field.Invalid(child(path, name), shown(object[name]), "is not a field here; "+wrong))
		}
	}
}

// unknownField says what to write in place of an unknown field, or nothing if it may stay.
func (c *checker) unknownField(name string, names []string) string {
	for _, meant := range names {
		if strings.EqualFold(meant, name) {
			return "write " + meant + ": names are case-sensitive"
		}
	}
	there := "here are " + strings.Join(names, ", ")
	switch {
	case c.unknown == RefuseMisspelt:
		return ""
	case len(c.errs) > mostGuesses:
	default:
		if meant := fielderror.Nearest(name, names); meant != "" {
			return "did you mean " + meant + "? T" + there
		}
	}
	return "t" + there
}

// wrongType notes a value of another type than it must be.
func (c *checker) wrongType(path *field.Path, value any, must string) {
	is := typeOf(value)
	if _, noun, _ := strings.Cut(is, " "); !strings.Contains(must, noun) {
		must += ", not " + is
	}
	switch value.(type) {
	case json.Number, bool:
		if strings.HasPrefix(must, "must be a string") {
			must += "; write it in quotes"
		}
	}
	c.errs = append(c.errs, field.TypeInvalid(path, shown(value), must))
}

// mustBe says what is allowed where a value of t is wanted.
func mustBe(t reflect.Type) string {
	switch kind := t.Kind(); {
	case kind == reflect.Struct, kind == reflect.Map:
		return "must be an object"
	case kind == reflect.Slice && t.Elem().Kind() == reflect.Uint8:
		return "must be a string in base64"
	case kind == reflect.Slice, kind == reflect.Array:
		return "must be a list"
	case kind == reflect.String:
		return "must be a string"
	case kind == reflect.Bool:
		return "must be true or false"
	case kind >= reflect.Int && kind <= reflect.Int64:
		largest := int64(math.MaxInt64) >> (64 - t.Bits())
		return fmt.Sprintf("must be a whole number from %d to %d", -largest-1, largest)
	case kind >= reflect.Uint && kind <= reflect.Uintptr:
		return fmt.Sprintf("must be a whole number from %d to %d", 0, uint64(math.MaxUint64)>>(64-t.Bits()))
	default: // nothing else can be decoded
		return "must be a number"
	}
}

// typeOf names the type of a JSON value.
func typeOf(value any) string {
	switch value.(type) {
	case map[string]any:
		return "an object"
	case []any:
		return "a list"
	case string:
		return "a string"
	case bool:
		return "true or false"
	default:
		return "a number"
	}
}

// child is the path of a field. A name that would read like a path is put in brackets.
func child(path *field.Path, name string) *field.Path {
	name = fielderror.Abbreviate(name)
	if name == "" || strings.ContainsAny(name, "./[] ") {
		return path.Key(name)
	}
	return path.Child(name)
}
