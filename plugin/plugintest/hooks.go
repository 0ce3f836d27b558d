// SPDX-License-Identifier: Apache-2.0

package plugintest

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"unsafe"

	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/trellis-network/trellis/pipeline"
	"github.com/trellis-network/trellis/plugin"
)

const (
	goroutines = 4
	// builds is how often each goroutine builds all networks, which are enough to notice the
	// order of a map.
	builds = 2
)

// determinism: the same Request gives the same bytes, also when others are built before,
// after and meanwhile. With the race detector it shows more.
func determinism(s *suite, found *report) {
	networks := slices.DeleteFunc(slices.Clone(s.networks()), func(n network) bool {
		return !n.cluster.isPlain() && n.request.Environment.PodAccess == nil
	})
	var want []string
	for _, n := range networks {
		want = append(want, textOfResult(n.result))
	}
	var mutex sync.Mutex
	var all sync.WaitGroup
	for start := range goroutines {
		all.Go(func() {
			for i := range builds * len(networks) {
				at := (i + start*len(networks)/goroutines) % len(networks)
				got := textOfResult(s.pipeline.Build(networks[at].request))
				if got == want[at] {
					continue
				}
				mutex.Lock()
				s.unstable = true
				found.where = fmt.Sprintf("%s, where one line was once\n%s", networks[at].name, difference(want[at], got))
				found.breach("the same Request does not give the same bytes each time; the cause may be the order of a map, chance, the time, or a variable that outlives Render")
				mutex.Unlock()
			}
		})
	}
	all.Wait()
}

func textOfResult(result pipeline.Result) string {
	return fmt.Sprintf("%s%s\n%s\n%v\n%v\n%v\n", textOfObjects(result.Objects), result.Config, textOf(result.Origins), result.Warnings, result.Errors, result.Objects.Components)
}

// difference shows the first line in which two texts differ.
func difference(one, other string) string {
	lines, others := strings.Split(one, "\n"), append(strings.Split(other, "\n"), "nothing")
	for i, line := range lines {
		if i == len(others) || line != others[i] {
			return fmt.Sprintf("%s\nand once %s", line, others[min(i, len(others)-1)])
		}
	}
	return "more than that"
}

// purity: hooks change nothing that they are given, and networks share nothing changeable.
func purity(s *suite, found *report) {
	for _, n := range s.networks() {
		// What else is special about a cluster makes no other code run here.
		if n.cluster.kubeProxy == kubeProxies[0] && n.renders() {
			checkArguments(s, found, n)
		}
	}
}

// checkArguments compares what hooks are given before and after each call.
func checkArguments(s *suite, found *report, n network) {
	found.where = n.name
	in := n.input()
	written, _ := s.plugin.Decode(n.request.Spec.ProviderConfig.Raw, nil) // as the pipeline could
	effective, err := s.plugin.Clone(written)
	if err != nil {
		found.breach("%s cannot be copied: %v", s.encoded(written), err)
		return
	}
	given := map[string]any{"the input": in, "the config as written": written, "the effective config": effective}
	objects, _, _ := s.hooks(written, effective, in, func(hook string, call func()) {
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

// checkShared finds what two networks have in common, beside constants.
func checkShared(found *report, first, second plugin.Objects) {
	known := sets.New[unsafe.Pointer]()
	eachReference(first, func(_ plugin.Object, p unsafe.Pointer) { known.Insert(p) })
	eachReference(second, func(object plugin.Object, p unsafe.Pointer) {
		if known.Has(p) {
			found.breach("%s, or a struct, a list or a map in it, is also in another network, so that a change for one changes both; create it in each call of Render, or use a plugin.Constant", documentOf(object))
		}
	})
}

func eachReference(objects plugin.Objects, visit func(plugin.Object, unsafe.Pointer)) {
	for _, bundle := range objects.Bundles {
		for _, object := range bundle.Objects {
			if _, constant := object.(*plugin.Constant); !constant {
				referencesFrom(reflect.ValueOf(object), func(p unsafe.Pointer) { visit(object, p) })
			}
		}
	}
}

// referencesFrom visits the maps, lists and structs by pointer in a value, but for empty ones
// and lists of numbers.
func referencesFrom(v reflect.Value, visit func(unsafe.Pointer)) {
	switch v.Kind() {
	case reflect.Interface:
		referencesFrom(v.Elem(), visit)
	case reflect.Pointer:
		if element := v.Elem(); element.Kind() == reflect.Struct && element.Type().Size() > 0 {
			visit(v.UnsafePointer())
			referencesFrom(element, visit)
		}
	case reflect.Struct:
		for field, value := range v.Fields() {
			if field.IsExported() {
				referencesFrom(value, visit)
			}
		}
	case reflect.Slice, reflect.Map:
		if v.Len() > 0 && (v.Kind() == reflect.Map || v.Type().Elem().Kind() >= reflect.Array) {
			visit(v.UnsafePointer())
		}
		for _, element := range v.Seq2() {
			referencesFrom(element, visit)
		}
	}
}
