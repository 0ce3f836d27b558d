// SPDX-License-Identifier: Apache-2.0

package plugintest

import (
	"fmt"
	"reflect"
	"regexp"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// block is a config, a struct in it, or one in a list or map of such.
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
	// kind is Bool, String, Int, Float64, Slice or Map, or another one of what decodes itself.
	kind reflect.Kind
	in   block
}

// inList reports that it is a field of what is in a list or map, which changes as a whole.
func (v value) inList() bool { return strings.Contains(v.path, "[]") }

// document writes the config that has this field only, with the given JSON.
func (v value) document(json string) string { return v.in.around(`{"` + v.name + `":` + json + `}`) }

// paths are where the value changes and is documented: for resources, at cpu and memory.
func (v value) paths() []string {
	if v.typ == reflect.TypeFor[corev1.ResourceList]() {
		return []string{v.path + "." + string(corev1.ResourceCPU), v.path + "." + string(corev1.ResourceMemory)}
	}
	return []string{v.path}
}

// mostNested is how many levels of a config are looked into.
const mostNested = 12

// withElement is JSON of a list or map around one element.
var withElement = map[reflect.Kind]string{reflect.Slice: "[%s]", reflect.Map: `{"key":%s}`}

// partsOf takes the type of a config apart. Paths are in JSON spelling.
func partsOf(config reflect.Type) (blocks []block, values []value) {
	var add func(b block, depth int)
	add = func(b block, depth int) {
		blocks = append(blocks, b)
		for _, v := range fieldsOf(b.typ) {
			v.path, v.in = strings.TrimPrefix(b.path+"."+v.name, "."), b
			inner := block{v.path, v.typ, v.document}
			if !isBlock(v.typ) {
				values = append(values, v)
				around, isList := withElement[v.kind]
				if !isList {
					continue
				}
				inner = block{v.path + "[]", pointedTo(v.typ.Elem()), func(object string) string { return v.document(fmt.Sprintf(around, object)) }}
			}
			if isBlock(inner.typ) && depth < mostNested {
				add(inner, depth+1)
			}
		}
	}
	add(block{typ: config, around: func(object string) string { return object }}, 0)
	return blocks, values
}

// fieldsOf are the fields of a struct that have a name in JSON, but not those of TypeMeta.
func fieldsOf(t reflect.Type) []value {
	var fields []value
	for _, field := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		isTypeMeta := len(field.Index) > 1 && (name == "apiVersion" || name == "kind")
		if field.IsExported() && name != "" && name != "-" && !isTypeMeta {
			typ := pointedTo(field.Type)
			fields = append(fields, value{name: name, typ: typ, kind: kindOf(typ)})
		}
	}
	return fields
}

// isBlock reports whether a type is a struct that is written field by field.
func isBlock(t reflect.Type) bool { return t.Kind() == reflect.Struct && len(fieldsOf(t)) > 0 }

// kindOf is the kind of a type, with one for numbers of all sizes.
func kindOf(t reflect.Type) reflect.Kind {
	switch zero := reflect.Zero(t); {
	case zero.CanInt(), zero.CanUint():
		return reflect.Int
	case zero.CanFloat():
		return reflect.Float64
	case zero.Kind() == reflect.Array:
		return reflect.Slice
	default:
		return zero.Kind()
	}
}

func pointedTo(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t
}

// pathsOf matches the paths of all parts as errors name them: peers[0].address.
func pathsOf(blocks []block, values []value) *regexp.Regexp {
	patterns := []string{"apiVersion", "kind"}
	add := func(path string) {
		patterns = append(patterns, strings.ReplaceAll(regexp.QuoteMeta(path), `\[\]`, `(\[[^]]*\]|\.[^.]+)`))
	}
	for _, b := range blocks[1:] { // the first is the config
		add(b.path)
	}
	for _, v := range values {
		add(v.path)
		if _, isList := withElement[v.kind]; isList {
			add(v.path + "[]")
		}
	}
	return regexp.MustCompile("^(" + strings.Join(patterns, "|") + ")$")
}
