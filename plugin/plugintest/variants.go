// SPDX-License-Identifier: Apache-2.0

package plugintest

import (
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/trellis-network/trellis/plugin"
)

// variant is a network whose user states one value more than another's.
type variant struct {
	network
	path, json string
}

// variantsOf are the possible variants of a network. Each one states a field that the
// network leaves out, with one of the values that the suite knows for it.
func (s *suite) variantsOf(base network) []variant {
	rows := s.rows()
	written, inForce := flatten(configOf(&base.request)), flatten(base.result.Config)
	var all []variant
	for _, v := range s.values {
		for _, path := range v.paths() {
			if _, stated := written[path]; stated || v.inList {
				continue
			}
			for _, value := range s.valuesAt(path, v.typ, rows[path], inForce[path]) {
				one, ok := s.with(base, path, value)
				if ok {
					all = append(all, one)
				}
			}
		}
	}
	return all
}

// with is a network with another value in its config, if that is possible.
func (s *suite) with(base network, path, value string) (variant, bool) {
	config := map[string]any{}
	if raw := configOf(&base.request); raw != nil && json.Unmarshal(raw, &config) != nil {
		return variant{}, false
	}
	plugin.Put(config, path, json.RawMessage(value))
	n := base
	n.name = fmt.Sprintf("%s, with %s: %s", base.name, path, value)
	n.request = s.request(Case{Config: textOf(config)}, base.cluster)
	n.request.Facts, n.request.Environment = base.request.Facts, base.request.Environment
	n.result = s.pipeline.Build(n.request)
	return variant{n, path, value}, n.renders()
}

var quoted = regexp.MustCompile("`([^`]+)`")

// valuesAt are values to try at a path, as JSON: what is in force, what the README names
// in the field's row, what stands in cases, and what fits the type.
func (s *suite) valuesAt(path string, t reflect.Type, r row, inForce string) []string {
	var values []string
	add := func(value string) {
		if value != "" && !slices.Contains(values, value) {
			values = append(values, value)
		}
	}
	add(inForce)
	for _, c := range s.cases {
		add(flatten(jsonOf(c.Config))[path])
	}
	switch t.Kind() {
	case reflect.Bool:
		add("false")
		add("true")
	case reflect.Slice, reflect.Array:
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		for _, number := range oddNumbers {
			add(strconv.FormatInt(number, 10))
		}
		for _, word := range quoted.FindAllStringSubmatch(r.text, -1) {
			if _, err := strconv.ParseInt(word[1], 10, 64); err == nil {
				add(word[1])
			}
		}
	default: // text, and what is written as text
		for _, word := range quoted.FindAllStringSubmatch(r.text, -1) {
			add(textOf(strings.Trim(word[1], `"`)))
		}
		add(`"1440"`)
		add(`"10.0.0.0/8"`)
	}
	return values
}

// rows are what the README says of fields; nothing without one, of which the promise
// readme tells.
func (s *suite) rows() map[string]row {
	raw, err := os.ReadFile(s.readme)
	if err != nil {
		return nil
	}
	return optionRows(string(raw))
}

// mostValues is how many values of a field are enough where only the objects count.
const mostValues = 3

// varyFirst are variants of the first network, with other objects than it has.
func (s *suite) varyFirst() []network {
	plain := s.plainNetworks()
	if len(plain) == 0 {
		return nil
	}
	var all []network
	values, objects := map[string]int{}, objectsOf(plain[0].result.Objects)
	for _, v := range s.variantsOf(plain[0]) {
		if values[v.path] < mostValues && objectsOf(v.result.Objects) != objects {
			values[v.path]++
			all = append(all, v.network)
		}
	}
	return all
}
