// SPDX-License-Identifier: Apache-2.0

package calico_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"pgregory.net/rapid"

	"github.com/trellis-network/trellis/pipeline"
	"github.com/trellis-network/trellis/plugin"
)

func TestTheSameRequestGivesTheSameBytes(t *testing.T) {
	p := newPipeline()
	for _, each := range matrix {
		t.Run(each.name, func(t *testing.T) {
			checkDeterminism(t, p, requestFor(t, each.config, each.options()...))
		})
	}
	t.Run("any", rapid.MakeCheck(func(t *rapid.T) { checkDeterminism(t, p, anyRequest(t)) }))
}

// checkDeterminism builds a Request often enough to notice a map's order or chance,
// with the fields of its config in another order each time.
func checkDeterminism(t rapid.TB, p *pipeline.Pipeline, request pipeline.Request) {
	t.Helper()
	want := allOf(t, p, request)
	for range 8 {
		if config := request.Spec.ProviderConfig; config != nil {
			request.Spec.ProviderConfig = &runtime.RawExtension{Raw: shuffled(t, config.Raw)}
		}
		if got := allOf(t, p, request); !bytes.Equal(got, want) {
			t.Fatalf("the same Request gives\n%s\nand\n%s", want, got)
		}
	}
}

// allOf is all that a Result says, as bytes.
func allOf(t rapid.TB, p *pipeline.Pipeline, request pipeline.Request) []byte {
	t.Helper()
	result := p.Build(request)
	var all bytes.Buffer
	for _, objects := range [][]plugin.Object{result.Objects.Shoot, result.Objects.ShootLater, result.Objects.Seed} {
		documents, err := pipeline.Documents(objects)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(documents)
	}
	fmt.Fprintf(&all, "%s\n%v\n%v\n%v\n%v\n%v\n", result.Config, result.Origins, result.Warnings, result.Errors,
		result.Objects.Components, result.IPFamilies)
	return all.Bytes()
}

// shuffled writes a JSON object with its fields in any order.
func shuffled(t rapid.TB, document []byte) []byte {
	t.Helper()
	var object map[string]json.RawMessage
	if json.Unmarshal(document, &object) != nil {
		return document
	}
	names := sorted(object)
	rand.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	out := []byte{'{'}
	for i, name := range names {
		if i > 0 {
			out = append(out, ',')
		}
		out = fmt.Appendf(out, "%q:%s", name, shuffled(t, object[name]))
	}
	return append(out, '}')
}

// sorted returns the keys of a map, so that tests are deterministic too.
func sorted[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }
