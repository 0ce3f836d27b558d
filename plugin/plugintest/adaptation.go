// SPDX-License-Identifier: Apache-2.0

package plugintest

import (
	"encoding/json"
	"maps"
	"math/rand/v2"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// spoils is how often each object is changed in one place before it is adapted.
const spoils = 5

// adaptation: whatever is written in a shoot, a Mutator takes it, reports whether it has
// changed it, and is done with it. Other plugins have nothing to mutate.
func adaptation(s *suite, found *report) {
	if !s.plugin.IsMutator() {
		return
	}
	random := rand.New(rand.NewPCG(3, 4))
	for _, d := range s.documents() {
		for i := range 1 + spoils {
			object := &unstructured.Unstructured{}
			_ = json.Unmarshal(d.raw, &object.Object) // what cannot be written is empty
			if i > 0 {
				spoil(random, object.Object)
			}
			checkMutate(s, found, object, d.String())
		}
	}
}

func checkMutate(s *suite, found *report, object *unstructured.Unstructured, name string) {
	before := textOf(object.Object)
	found.where = name + ":\n" + before
	changed, err := s.plugin.Mutate(object)
	if err != nil {
		return // the author of the object must correct it
	}
	once := textOf(object.Object)
	if changed != (once != before) {
		found.breach("Mutate says of %s that changed is %t, and the opposite is true", name, changed)
	}
	if _, err := s.plugin.Mutate(object); err != nil || textOf(object.Object) != once {
		found.breach("Mutate changes %s again, or refuses it, after it has changed it; look at what is there before changing it", name)
	}
}

// spoil puts something odd somewhere into an object.
func spoil(random *rand.Rand, object map[string]any) {
	for len(object) > 0 {
		name := pick(random, slices.Sorted(maps.Keys(object)))
		inner, isObject := object[name].(map[string]any)
		if list, isList := object[name].([]any); isList && len(list) > 0 {
			inner, isObject = pick(random, list).(map[string]any)
		}
		if !isObject || random.IntN(6) == 0 {
			object[name] = pick(random, []any{nil, "", "odd", int64(7), true, map[string]any{}, []any{}, []any{"odd"}, []any{map[string]any{"odd": nil}}})
			return
		}
		object = inner
	}
}
