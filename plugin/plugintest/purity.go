// SPDX-License-Identifier: Apache-2.0

package plugintest

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/trellis-network/trellis/plugin"
)

// purity: hooks go by their arguments alone and do not change them, and networks share
// nothing that can be changed.
func purity(s *suite, found *report) {
	s.checkSources(found)
	for _, n := range s.networks() {
		// What else is special about a cluster makes no other code run here.
		if n.cluster.kubeProxy == kubeProxies[0] && n.renders() {
			(&witness{suite: s, report: found, network: n}).watch()
		}
	}
}

// witness looks whether the hooks change what they are given for one network.
type witness struct {
	*suite
	*report
	network network
	// given is what the hooks get, by what it is called in reports.
	given map[string]any
}

func (w *witness) watch() {
	defer w.survive(w.network.name)
	facts := *inputOf(&w.network.request)
	written, errs := w.plugin.Decode(configOf(&w.network.request), nil)
	if len(errs) > 0 {
		return
	}
	effective, err := w.plugin.Clone(written)
	if err != nil {
		w.breach("%s cannot be copied: %v", w.encoded(written), err)
		return
	}
	root := field.NewPath("providerConfig")
	w.given = map[string]any{"the input": &facts, "the config as written": written}
	w.during("Validate", func() { w.plugin.Validate(written, &facts, root) })
	w.during("Default", func() { w.plugin.Default(effective, &facts, &plugin.Origins{}) })
	w.given["the effective config"] = effective
	w.during("ValidateEffective", func() { w.plugin.ValidateEffective(effective, written, &facts, root) })
	w.during("Classify", func() {
		for _, v := range w.values {
			w.plugin.Classify(v.path, effective, effective, &facts, &facts)
		}
		for _, fact := range plugin.AllFacts() {
			w.plugin.Classify(string(fact), effective, effective, &facts, &facts)
		}
	})
	var first, second plugin.Objects
	w.during("Render", func() { first, _ = w.plugin.Render(effective, &facts) })
	w.during("Precondition", func() { w.plugin.Precondition(effective, &facts) })
	second, _ = w.plugin.Render(effective, &facts)
	w.compare(first, second)
	w.spoil(first, func() plugin.Objects {
		objects, _ := w.plugin.Render(effective, &facts)
		return objects
	})
}

// during calls a hook and tells what it has changed.
func (w *witness) during(hook string, call func()) {
	before := map[string]string{}
	for name, one := range w.given {
		before[name] = textOf(one)
	}
	call()
	for name, one := range w.given {
		if after := textOf(one); after != before[name] {
			w.breachIn(fmt.Sprintf("%s, where it made\n%s\ninto\n%s", w.network.name, before[name], after), "%s changes %s; let it work on a copy", hook, name)
		}
	}
}

// compare looks for objects that two networks got.
func (w *witness) compare(first, second plugin.Objects) {
	seen := map[plugin.Object]bool{}
	for _, object := range allOf(first) {
		seen[object] = true
	}
	for _, object := range allOf(second) {
		if _, constant := object.(*plugin.Constant); seen[object] && !constant {
			w.breach("%s %s is one object for all networks, and whoever changes it for one changes it for all; make it anew in Render, or hand out a plugin.Constant",
				object.GetObjectKind().GroupVersionKind().Kind, object.GetName())
		}
	}
}

// spoil changes all that a network's own objects are made of, and looks whether that
// shows in the next network's.
func (w *witness) spoil(objects plugin.Objects, again func() plugin.Objects) {
	var vandal vandal
	for _, object := range allOf(objects) {
		if _, constant := object.(*plugin.Constant); !constant {
			vandal.spoil(reflect.ValueOf(object))
		}
	}
	var next []document
	for _, object := range allOf(again()) {
		next = append(next, documentOf(object, inShoot, ""))
	}
	vandal.undo()
	for _, d := range next {
		if strings.Contains(d.raw, spoilt) {
			w.breach("%s shares something with an object of another network, a map or a list, and whoever changes it for one changes it for all; make it anew in Render", d)
		}
	}
}

// vandal changes values, and can bring back what they were.
type vandal struct{ done []func() }

const spoilt = "spoilt-by-plugintest"

func (v *vandal) spoil(value reflect.Value) {
	switch value.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !value.IsNil() {
			v.spoil(value.Elem())
		}
	case reflect.Struct:
		for i := range value.NumField() {
			if value.Type().Field(i).IsExported() {
				v.spoil(value.Field(i))
			}
		}
	case reflect.Slice:
		for i := range value.Len() {
			v.spoil(value.Index(i))
		}
	case reflect.Map:
		v.spoilMap(value)
	case reflect.String:
		if value.CanSet() {
			before := value.String()
			value.SetString(spoilt)
			v.done = append(v.done, func() { value.SetString(before) })
		}
	}
}

// spoilMap puts another value into a map of strings.
func (v *vandal) spoilMap(value reflect.Value) {
	t := value.Type()
	if value.IsNil() || t.Key().Kind() != reflect.String || t.Elem().Kind() != reflect.String {
		return
	}
	key := reflect.ValueOf(spoilt).Convert(t.Key())
	value.SetMapIndex(key, reflect.ValueOf(spoilt).Convert(t.Elem()))
	v.done = append(v.done, func() { value.SetMapIndex(key, reflect.Value{}) })
}

// undo brings back what was there, the last first.
func (v *vandal) undo() {
	for _, one := range slices.Backward(v.done) {
		one()
	}
}

func allOf(objects plugin.Objects) []plugin.Object {
	var all []plugin.Object
	for _, group := range groupsOf(objects) {
		all = append(all, group...)
	}
	return all
}
