// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// AppendJSON appends an object to out as it is written into a bundle: a JSON
// document without status, which is not ours to state. Equal objects of one type
// give equal bytes.
func AppendJSON(out []byte, object Object) ([]byte, error) {
	var err error
	switch typed := object.(type) {
	case *Constant:
		return append(out, typed.document...), nil
	case *unstructured.Unstructured:
		out, err = appendMap(out, typed.Object)
	default:
		out, err = appendStruct(out, object)
	}
	if err != nil {
		err = fmt.Errorf("encode %s %s: %w", object.GetObjectKind().GroupVersionKind().Kind, object.GetName(), err)
	}
	return out, err
}

func appendMap(out []byte, content map[string]any) ([]byte, error) {
	stated := make(map[string]any, len(content))
	for name, value := range content {
		if name != statusField {
			stated[name] = value
		}
	}
	return appendValue(out, stated)
}

const statusField = "status"

// appendStruct writes the outermost fields by itself, so that a status is not
// encoded in the first place, and leaves what is in them to the JSON encoder.
func appendStruct(out []byte, object Object) ([]byte, error) {
	value := reflect.ValueOf(object)
	if value.Kind() != reflect.Pointer || value.IsNil() || value.Elem().Kind() != reflect.Struct {
		return out, fmt.Errorf("a %T is no Kubernetes object", object)
	}
	value = value.Elem()
	var head struct {
		APIVersion string `json:"apiVersion"`
		Kind       string `json:"kind"`
	}
	head.APIVersion, head.Kind = object.GetObjectKind().GroupVersionKind().ToAPIVersionAndKind()
	out, err := appendValue(out, &head)
	if err != nil {
		return out, err
	}
	out = out[:len(out)-1] // the brace that closes it
	for _, field := range fieldsOf(value.Type()) {
		at := value.Field(field.index)
		if field.omitEmpty && isEmpty(at) {
			continue
		}
		out = append(out, field.prefix...)
		if out, err = appendValue(out, at.Addr().Interface()); err != nil {
			return out, err
		}
	}
	return append(out, '}'), nil
}

// appendValue is json.Marshal without a slice of its own for the result.
func appendValue(out []byte, value any) ([]byte, error) {
	to := appender{out}
	if err := json.NewEncoder(&to).Encode(value); err != nil {
		return out, err
	}
	return to.bytes[:len(to.bytes)-1], nil // the encoder ends with a line break
}

// appender is an io.Writer that appends.
type appender struct{ bytes []byte }

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
// kind and status.
func fieldsOf(t reflect.Type) []objectField {
	if known, ok := fieldsByType.Load(t); ok {
		return known.([]objectField)
	}
	var fields []objectField
	for i := range t.NumField() {
		name, options, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		if name == "" || name == "-" || name == statusField {
			continue
		}
		fields = append(fields, objectField{i, `,"` + name + `":`, strings.Contains(options, "omitempty")})
	}
	fieldsByType.Store(t, fields)
	return fields
}

// isEmpty says whether the JSON encoder would leave the value out.
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
