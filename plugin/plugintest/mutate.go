// SPDX-License-Identifier: Apache-2.0

package plugintest

import (
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// mutations is how many configs are made.
const mutations = 300

// mutator makes configs out of those of the cases: most of them fit the type, and few
// make sense. It makes the same each time.
type mutator struct {
	*suite
	*rand.Rand
	seeds []string
	// seen are values that some config has, by path, as JSON.
	seen map[string][]string
}

func newMutator(s *suite) *mutator {
	m := &mutator{suite: s, Rand: rand.New(rand.NewPCG(1, 2)), seen: map[string][]string{}}
	for _, c := range s.cases {
		if c.Config != "" {
			m.learn(string(jsonOf(c.Config)))
		}
	}
	for _, n := range s.plainNetworks() {
		m.learn(string(n.result.Config))
	}
	m.seeds = append(m.seeds, "{}")
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
	for path := range m.seen {
		slices.Sort(m.seen[path])
	}
}

// chance is true once in so many times.
func (m *mutator) chance(of int) bool { return m.IntN(of) == 0 }

// next is a config with one to three fields that are not what they were.
func (m *mutator) next() string {
	var config map[string]any
	if json.Unmarshal([]byte(pick(m, m.seeds)), &config) != nil || len(m.values) == 0 {
		return "{}"
	}
	for range 1 + m.IntN(3) {
		m.change(config)
	}
	raw, err := json.Marshal(config)
	if err != nil {
		return "{}" // of a number that JSON does not have
	}
	return string(raw)
}

// change puts something at a field, or takes away what is there.
func (m *mutator) change(config map[string]any) {
	v := pick(m, m.values)
	if v.inList {
		return // whatever is in lists changes with them
	}
	names, object := strings.Split(v.path, "."), config
	for i, name := range names[:len(names)-1] {
		if m.chance(40) {
			object[name] = pick(m, []any{nil, map[string]any{}})
			return
		}
		inner, ok := object[name].(map[string]any)
		if !ok {
			inner = map[string]any{}
			object[names[i]] = inner
		}
		object = inner
	}
	last := names[len(names)-1]
	switch {
	case m.chance(8):
		delete(object, last)
	case m.chance(16):
		object[last] = nil
	default:
		object[last] = m.valueFor(v)
	}
}

// valueFor is something that fits the type, more or less.
func (m *mutator) valueFor(v value) any {
	if seen := m.seen[v.path]; len(seen) > 0 && m.chance(3) {
		return json.RawMessage(pick(m, seen))
	}
	return m.anyOf(v.typ, 0)
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

func (m *mutator) anyOf(t reflect.Type, depth int) any {
	t = pointedTo(t)
	if depth > mostNested {
		return nil
	}
	switch t.Kind() {
	case reflect.Bool:
		return m.chance(2)
	case reflect.String:
		return pick(m, oddTexts)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return pick(m, oddNumbers)
	case reflect.Float32, reflect.Float64:
		return json.RawMessage(strconv.FormatFloat(m.NormFloat64()*1000, 'g', 6, 64))
	case reflect.Slice, reflect.Array:
		list := []any{}
		for range m.IntN(4) {
			list = append(list, m.anyOf(t.Elem(), depth+1))
		}
		return list
	case reflect.Map:
		object := map[string]any{}
		for range m.IntN(3) {
			object[pick(m, oddNames)] = m.anyOf(t.Elem(), depth+1)
		}
		return object
	default:
		return m.anyStruct(t, depth)
	}
}

// anyStruct is a block, or what decodes itself.
func (m *mutator) anyStruct(t reflect.Type, depth int) any {
	if !isBlock(t) {
		return pick(m, []any{pick(m, oddTexts), pick(m, oddNumbers)})
	}
	object := map[string]any{}
	for _, field := range fieldsOf(t) {
		if m.chance(2) {
			object[field.name] = m.anyOf(field.typ, depth+1)
		}
	}
	return object
}

func pick[T any](m *mutator, from []T) T { return from[m.IntN(len(from))] }
