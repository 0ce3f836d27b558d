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
		s.adapt(found, d.raw, d.String())
		for range spoils {
			var content map[string]any
			if json.Unmarshal([]byte(d.raw), &content) != nil {
				break
			}
			spoil(random, content)
			s.adapt(found, textOf(content), d.String())
		}
	}
}

// adapt hands an object to the Mutator, and what comes back once more.
func (s *suite) adapt(found *report, raw, name string) {
	defer found.survive(name + ":\n" + raw)
	var content map[string]any
	if json.Unmarshal([]byte(raw), &content) != nil {
		return
	}
	object := &unstructured.Unstructured{Object: content}
	changed, err := s.plugin.Mutate(object)
	if err != nil {
		return // the author of the object must correct it
	}
	once := textOf(object.Object)
	if same := once == textOf(mustDecode(raw)); same == changed {
		found.breachIn(raw, "Mutate says of %s that changed is %t, and the opposite is true", name, changed)
	}
	if _, err := s.plugin.Mutate(object); err != nil || textOf(object.Object) != once {
		found.breachIn(raw, "Mutate changes %s again, or refuses it, after it has changed it; look at what is there before changing it", name)
	}
}

func mustDecode(raw string) any {
	var content any
	_ = json.Unmarshal([]byte(raw), &content) // has been decoded before
	return content
}

// spoil puts something odd somewhere into an object.
func spoil(random *rand.Rand, object map[string]any) {
	for {
		names := slices.Sorted(maps.Keys(object))
		if len(names) == 0 {
			return
		}
		name := names[random.IntN(len(names))]
		inner, isObject := object[name].(map[string]any)
		if list, isList := object[name].([]any); isList && len(list) > 0 {
			inner, isObject = list[random.IntN(len(list))].(map[string]any)
		}
		if !isObject || random.IntN(6) == 0 {
			odd := []any{nil, "", "odd", int64(7), true, map[string]any{}, []any{}, []any{"odd"}, []any{map[string]any{"odd": nil}}}
			object[name] = odd[random.IntN(len(odd))]
			return
		}
		object = inner
	}
}
