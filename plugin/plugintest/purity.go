// SPDX-License-Identifier: Apache-2.0

package plugintest

import (
	"fmt"
	"reflect"
	"unsafe"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/trellis-network/trellis/plugin"
)

// purity: hooks do not change what they are given, and networks share nothing that can be
// changed.
func purity(s *suite, found *report) {
	for _, n := range s.networks() {
		// What else is special about a cluster makes no other code run here.
		if n.cluster.kubeProxy == kubeProxies[0] && n.renders() {
			checkArguments(s, found, n)
		}
	}
}

// checkArguments calls the hooks for a network and compares what they were given before and
// after each call.
func checkArguments(s *suite, found *report, n network) {
	found.where = n.name
	in := n.input()
	written, errs := s.plugin.Decode(configOf(&n.request), nil)
	if len(errs) > 0 {
		return
	}
	effective, err := s.plugin.Clone(written)
	if err != nil {
		found.breach("%s cannot be copied: %v", s.encoded(written), err)
		return
	}
	given := map[string]any{"the input": in, "the config as written": written, "the effective config": effective}
	objects, _, _ := s.hooks(written, effective, in, field.NewPath("providerConfig"), func(hook string, call func()) {
		before := map[string]string{}
		for name, one := range given {
			before[name] = textOf(one)
		}
		call()
		for name, one := range given {
			after := textOf(one)
			if after == before[name] || hook == "Default" && one == effective {
				continue
			}
			found.where = fmt.Sprintf("%s, where it made\n%s\ninto\n%s", n.name, before[name], after)
			found.breach("%s changes %s; change a copy instead", hook, name)
			found.where = n.name
		}
	})
	again, err := s.plugin.Render(effective, in)
	if err == nil {
		checkShared(found, objects, again)
	}
}

// checkShared finds what two networks have in common.
func checkShared(found *report, first, second plugin.Objects) {
	known := sets.New[unsafe.Pointer]()
	for _, object := range ownObjects(first) {
		eachReference(reflect.ValueOf(object), func(p unsafe.Pointer) { known.Insert(p) })
	}
	for _, object := range ownObjects(second) {
		eachReference(reflect.ValueOf(object), func(p unsafe.Pointer) {
			if known.Has(p) {
				found.breach("%s, or a struct, a list or a map in it, is also in another network, so that a change for one changes both; create it in each call of Render, or use a plugin.Constant", nameOf(object))
			}
		})
	}
}

// ownObjects are the objects that each network must have for itself.
func ownObjects(objects plugin.Objects) []plugin.Object {
	var own []plugin.Object
	for _, bundle := range objects.Bundles {
		for _, object := range bundle.Objects {
			if _, constant := object.(*plugin.Constant); !constant {
				own = append(own, object)
			}
		}
	}
	return own
}

// eachReference visits the maps, the lists and the structs by pointer in a value. It leaves
// out what is empty, and lists of numbers.
func eachReference(v reflect.Value, visit func(unsafe.Pointer)) {
	switch v.Kind() {
	case reflect.Interface:
		eachReference(v.Elem(), visit)
	case reflect.Pointer:
		if element := v.Elem(); element.Kind() == reflect.Struct && element.Type().Size() > 0 {
			visit(v.UnsafePointer())
			eachReference(element, visit)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				eachReference(v.Field(i), visit)
			}
		}
	case reflect.Slice:
		if element := v.Type().Elem().Kind(); v.Len() > 0 && element >= reflect.Array {
			visit(v.UnsafePointer())
		}
		for i := range v.Len() {
			eachReference(v.Index(i), visit)
		}
	case reflect.Map:
		if v.Len() > 0 {
			visit(v.UnsafePointer())
		}
		for _, key := range v.MapKeys() {
			eachReference(v.MapIndex(key), visit)
		}
	}
}
