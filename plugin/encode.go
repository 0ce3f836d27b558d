// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// statusField is the outermost field that is not ours to state.
const statusField = "status"

// AppendJSON appends an object to out as it is written into a bundle: a JSON
// document without status. Equal objects of one type give equal bytes.
func AppendJSON(out []byte, object Object) ([]byte, error) {
	var err error
	switch typed := object.(type) {
	case *Constant:
		return append(out, typed.document...), nil
	case *unstructured.Unstructured:
		out, err = appendMap(out, typed.Object)
	default:
		value := reflect.ValueOf(object)
		if value.Kind() != reflect.Pointer || value.IsNil() {
			return out, fmt.Errorf("a %T is no Kubernetes object", object)
		}
		if fields := fieldsOf(value.Type()); fields != nil {
			out, err = appendFields(out, value.Elem(), fields, object.GetObjectKind().GroupVersionKind())
		} else {
			out, err = appendOther(out, object)
		}
	}
	if err != nil {
		err = fmt.Errorf("encode %s %s: %w", object.GetObjectKind().GroupVersionKind().Kind, object.GetName(), err)
	}
	return out, err
}

func appendMap(out []byte, content map[string]any) ([]byte, error) {
	stated := maps.Clone(content)
	delete(stated, statusField)
	to := newAppender(out)
	err := to.append(stated)
	return to.bytes, err
}

// appendOther takes the way through a map, for objects that are not made as those
// of Kubernetes are.
func appendOther(out []byte, object Object) ([]byte, error) {
	raw, err := json.Marshal(object)
	if err != nil {
		return out, err
	}
	var content map[string]any
	if err := utiljson.Unmarshal(raw, &content); err != nil {
		return out, err
	}
	return appendMap(out, content)
}

// appendFields writes the outermost fields by itself, so that a status is not
// encoded in the first place, and leaves what is in them to the JSON encoder.
func appendFields(out []byte, value reflect.Value, fields []objectField, gvk schema.GroupVersionKind) ([]byte, error) {
	var head struct {
		APIVersion string `json:"apiVersion"`
		Kind       string `json:"kind"`
	}
	head.APIVersion, head.Kind = gvk.ToAPIVersionAndKind()
	to := newAppender(out)
	if err := to.append(&head); err != nil {
		return out, err
	}
	to.bytes = to.bytes[:len(to.bytes)-1] // the brace that closes it
	for _, field := range fields {
		at := value.Field(field.index)
		if field.omitEmpty && isEmpty(at) {
			continue
		}
		to.bytes = append(to.bytes, field.prefix...)
		if err := to.append(at.Addr().Interface()); err != nil {
			return out, err
		}
	}
	return append(to.bytes, '}'), nil
}

// appender is json.Marshal without a slice for each result.
type appender struct {
	bytes   []byte
	encoder *json.Encoder
}

func newAppender(out []byte) *appender {
	a := &appender{bytes: out}
	a.encoder = json.NewEncoder(a)
	return a
}

func (a *appender) append(value any) error {
	if err := a.encoder.Encode(value); err != nil {
		return err
	}
	a.bytes = a.bytes[:len(a.bytes)-1] // the encoder ends with a line break
	return nil
}

// Write is what the encoder calls.
func (a *appender) Write(more []byte) (int, error) {
	a.bytes = append(a.bytes, more...)
	return len(more), nil
}

// objectField is an outermost field of a type of objects.
type objectField struct {
	index     int
	prefix    string // a comma, the name, and a colon
	omitEmpty bool
}

var fieldsByType sync.Map // of reflect.Type to []objectField

// fieldsOf returns the outermost fields of a type of objects, but for apiVersion,
// kind and status; nil for a type with fields that have no name of their own, or
// which encodes itself.
func fieldsOf(pointer reflect.Type) []objectField {
	if known, ok := fieldsByType.Load(pointer); ok {
		return known.([]objectField)
	}
	fields := makeFields(pointer)
	fieldsByType.Store(pointer, fields)
	return fields
}

func makeFields(pointer reflect.Type) []objectField {
	t := pointer.Elem()
	if t.Kind() != reflect.Struct || pointer.Implements(reflect.TypeFor[json.Marshaler]()) {
		return nil
	}
	var fields []objectField
	for i := range t.NumField() {
		name, options, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		switch {
		case t.Field(i).Type == reflect.TypeFor[metav1.TypeMeta]() || name == statusField:
			continue
		case name == "" || name == "-" || options != "" && options != "omitempty":
			return nil
		}
		fields = append(fields, objectField{i, `,"` + name + `":`, options != ""})
	}
	return fields
}

// isEmpty reports whether the JSON encoder would leave the value out.
func isEmpty(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Map, reflect.Slice, reflect.Array, reflect.String:
		return v.Len() == 0
	case reflect.Struct:
		return false
	default:
		return v.IsZero()
	}
}
