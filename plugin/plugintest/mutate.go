// SPDX-License-Identifier: Apache-2.0

package plugintest

import (
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/trellis-network/trellis/plugin"
)

const mutations = 300

// mutator makes configs out of those of the cases, the same each time. Most of them fit the
// type, and few make sense.
type mutator struct {
	*rand.Rand
	values []value
	seeds  []string
	// seen are values that some seed has, by path, as JSON.
	seen map[string][]string
}

func newMutator(s *suite) *mutator {
	m := &mutator{Rand: rand.New(rand.NewPCG(1, 2)), values: s.values, seen: map[string][]string{}}
	for _, c := range s.cases {
		if c.Config != "" {
			m.learn(c.Config)
		}
	}
	for _, n := range s.plainNetworks() {
		m.learn(string(n.result.Config))
	}
	m.learn("{}")
	return m
}

func (m *mutator) learn(config string) {
	if slices.Contains(m.seeds, config) {
		return
	}
	m.seeds = append(m.seeds, config)
	for path, value := range flatten([]byte(config)) {
		if !slices.Contains(m.seen[path], value) {
			m.seen[path] = append(m.seen[path], value)
		}
	}
}

// chance is true once in so many times.
func (m *mutator) chance(of int) bool { return m.IntN(of) == 0 }

// next is a config with one to three fields that are not what they were.
func (m *mutator) next() string {
	var config map[string]any
	if json.Unmarshal([]byte(pick(m.Rand, m.seeds)), &config) != nil || len(m.values) == 0 {
		return "{}"
	}
	for range 1 + m.IntN(3) {
		m.change(config)
	}
	return textOf(config)
}

// change puts something at a field, or takes away what is there.
func (m *mutator) change(config map[string]any) {
	v := pick(m.Rand, m.values)
	if v.inList() {
		return // whatever is in lists changes with them
	}
	switch {
	case v.in.path != "" && m.chance(20):
		plugin.Put(config, v.in.path, pick(m.Rand, []any{nil, map[string]any{}}))
	case m.chance(8):
		unstructured.RemoveNestedField(config, strings.Split(v.path, ".")...)
	case m.chance(16):
		plugin.Put(config, v.path, nil)
	case len(m.seen[v.path]) > 0 && m.chance(3):
		plugin.Put(config, v.path, json.RawMessage(pick(m.Rand, m.seen[v.path])))
	default:
		plugin.Put(config, v.path, m.anyOf(v.typ, 0))
	}
}

// Odd values: some of them are right somewhere.
var (
	oddTexts = []string{
		"", " ", "0", "-1", "1440", "99999999999999999999", "1.5", "true", "none", "None", "x y", "=", "a=b", "(", "[", "*", "a,b",
		"10.0.0.0/8", "10.0.0.1/8", "10.0.0.0/33", "2001:db8::/64", "::/0", "10.0.0.1", "2001:db8::1", "www.example.com", "-a-",
		"1s", "-1h", "250m", "1Gi", "\u0661", "\x00", "\u202e", "a\nb", "../../etc", strings.Repeat("x", 300),
	}
	oddNumbers = []int64{0, 1, -1, 2, 50, 1280, 1500, 4789, 65535, 65536, 1<<24 - 1, 1 << 24, 1<<31 - 1, -1 << 31}
	oddNames   = []string{"cpu", "memory", "", "disk", "a/b"}
)

// anyOf is something that fits a type, more or less.
func (m *mutator) anyOf(t reflect.Type, depth int) any {
	t = pointedTo(t)
	if depth > mostNested {
		return nil
	}
	object := map[string]any{}
	switch kind := kindOf(t); {
	case kind == reflect.Bool:
		return m.chance(2)
	case kind == reflect.String:
		return pick(m.Rand, oddTexts)
	case kind == reflect.Int:
		return pick(m.Rand, oddNumbers)
	case kind == reflect.Float64:
		return float32(m.NormFloat64() * 1000)
	case kind == reflect.Slice:
		list := []any{}
		for range m.IntN(4) {
			list = append(list, m.anyOf(t.Elem(), depth+1))
		}
		return list
	case kind == reflect.Map:
		for range m.IntN(3) {
			object[pick(m.Rand, oddNames)] = m.anyOf(t.Elem(), depth+1)
		}
	case isBlock(t):
		for _, field := range fieldsOf(t) {
			if m.chance(2) {
				object[field.name] = m.anyOf(field.typ, depth+1)
			}
		}
	default: // what decodes itself
		return pick(m.Rand, []any{pick(m.Rand, oddTexts), pick(m.Rand, oddNumbers)})
	}
	return object
}

func pick[T any](random *rand.Rand, from []T) T { return from[random.IntN(len(from))] }
