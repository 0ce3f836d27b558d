// SPDX-License-Identifier: Apache-2.0

package plugintest

import (
	"reflect"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// block is an object in a config: the config itself, a struct in it, or one in a list
// or map of such.
type block struct {
	path string
	typ  reflect.Type
	// around writes the config in which the block is the given JSON object.
	around func(object string) string
}

// value is a field of a block that is no block itself.
type value struct {
	path, name string
	typ        reflect.Type
	in         block
	// inList reports that it is a field of what is in a list or map, which changes as a
	// whole.
	inList bool
}

// document writes the config that has this field only, with the given JSON.
func (v value) document(json string) string { return v.in.around(`{"` + v.name + `":` + json + `}`) }

// paths are what the value is called where it changes or is documented: for a list of
// resources, those of cpu and memory.
func (v value) paths() []string {
	if v.typ == reflect.TypeFor[corev1.ResourceList]() {
		return []string{v.path + "." + string(corev1.ResourceCPU), v.path + "." + string(corev1.ResourceMemory)}
	}
	return []string{v.path}
}

// mostNested is how deep configs are looked into.
const mostNested = 12

// partsOf takes the type of a config apart. Paths are in JSON spelling.
func partsOf(config reflect.Type) ([]block, []value) {
	p := &parts{}
	p.add(block{typ: config, around: func(object string) string { return object }}, false, 0)
	return p.blocks, p.values
}

type parts struct {
	blocks []block
	values []value
}

func (p *parts) add(b block, inList bool, depth int) {
	p.blocks = append(p.blocks, b)
	if depth == mostNested {
		return
	}
	for _, field := range fieldsOf(b.typ) {
		p.addField(b, field, inList, depth)
	}
}

func (p *parts) addField(b block, field jsonField, inList bool, depth int) {
	v := value{path: strings.TrimPrefix(b.path+"."+field.name, "."), name: field.name, typ: field.typ, in: b, inList: inList}
	inner := func(typ reflect.Type, suffix, before, after string, inList bool) {
		p.add(block{v.path + suffix, typ, func(object string) string { return v.document(before + object + after) }}, inList, depth+1)
	}
	if isBlock(field.typ) {
		inner(field.typ, "", "", "", inList)
		return
	}
	p.values = append(p.values, v)
	switch field.typ.Kind() {
	case reflect.Slice, reflect.Array:
		if element := pointedTo(field.typ.Elem()); isBlock(element) {
			inner(element, "[]", "[", "]", true)
		}
	case reflect.Map:
		if element := pointedTo(field.typ.Elem()); isBlock(element) {
			inner(element, "[]", `{"key":`, "}", true)
		}
	}
}

// jsonField is a field as it is called in JSON, and what it points to.
type jsonField struct {
	name string
	typ  reflect.Type
}

// fieldsOf are the fields of a struct that have a name in JSON, but for apiVersion and
// kind, which a config shares with all objects.
func fieldsOf(t reflect.Type) []jsonField {
	var fields []jsonField
	for _, field := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		isTypeMeta := len(field.Index) > 1 && (name == "apiVersion" || name == "kind")
		if !field.IsExported() || name == "" || name == "-" || isTypeMeta {
			continue
		}
		fields = append(fields, jsonField{name, pointedTo(field.Type)})
	}
	return fields
}

// isBlock reports whether a type is a struct that is written field by field.
func isBlock(t reflect.Type) bool { return t.Kind() == reflect.Struct && len(fieldsOf(t)) > 0 }

func pointedTo(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t
}

// hasField reports whether a type has the field at a path as errors name it, for example
// peers[0].address.
func hasField(t reflect.Type, path string) bool {
	for _, name := range strings.Split(path, ".") {
		name, _, indexed := strings.Cut(name, "[")
		t = pointedTo(t)
		if t.Kind() == reflect.Map {
			t = t.Elem()
			continue
		}
		next, ok := fieldNamed(t, name)
		if !ok {
			return false
		}
		if t = next; indexed && (t.Kind() == reflect.Slice || t.Kind() == reflect.Map) {
			t = t.Elem()
		}
	}
	return true
}

func fieldNamed(t reflect.Type, name string) (reflect.Type, bool) {
	if t.Kind() != reflect.Struct {
		return nil, false
	}
	for _, field := range fieldsOf(t) {
		if field.name == name {
			return field.typ, true
		}
	}
	return nil, name == "apiVersion" || name == "kind"
}
