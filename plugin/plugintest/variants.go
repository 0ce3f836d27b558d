// SPDX-License-Identifier: Apache-2.0

package plugintest

import (
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/sets"

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
	rows := optionRows(readREADME(s))
	var all []variant
	for _, v := range s.values {
		for _, path := range v.paths() {
			if _, stated := base.written[path]; stated || v.inList {
				continue
			}
			for _, value := range s.valuesAt(path, v.kind, rows[path].text, base.inForce[path]) {
				if one := s.with(base, path, value); one.renders() {
					all = append(all, one)
				}
			}
		}
	}
	return all
}

// with is a network with another value in its config.
func (s *suite) with(base network, path, value string) variant {
	config := map[string]any{}
	// What is no object gets no value in between.
	_ = json.Unmarshal(configOf(&base.request), &config)
	plugin.Put(config, path, json.RawMessage(value))
	request := s.request(Case{Config: textOf(config)}, base.cluster)
	request.Facts, request.Environment = base.request.Facts, base.request.Environment
	name := fmt.Sprintf("%s, with %s: %s", base.name, path, value)
	return variant{s.build(name, "", base.cluster, request), path, value}
}

var quoted = regexp.MustCompile("`([^`]+)`")

// valuesAt are values to try at a path, as JSON: what is in force, what stands in cases,
// what the README names in the field's row, and what fits the kind.
func (s *suite) valuesAt(path string, kind reflect.Kind, documented, inForce string) []string {
	var values []string
	seen := sets.New("")
	add := func(some ...string) {
		for _, one := range some {
			if !seen.Has(one) {
				seen.Insert(one)
				values = append(values, one)
			}
		}
	}
	add(inForce)
	for _, c := range s.cases {
		add(flatten(jsonOf(c.Config))[path])
	}
	switch kind {
	case reflect.Bool:
		add("false", "true")
	case reflect.Slice:
	case reflect.Int:
		for _, number := range oddNumbers {
			add(strconv.FormatInt(number, 10))
		}
		for _, word := range quoted.FindAllStringSubmatch(documented, -1) {
			if _, err := strconv.ParseInt(word[1], 10, 64); err == nil {
				add(word[1])
			}
		}
	default: // text, and what is written as text
		for _, word := range quoted.FindAllStringSubmatch(documented, -1) {
			add(textOf(strings.Trim(word[1], `"`)))
		}
		add(`"1440"`, `"10.0.0.0/8"`)
	}
	return values
}

// mostValues is how many values of a field are enough where only the objects count.
const mostValues = 3

// variedNetworks are variants of the first network, with other objects than it has.
func variedNetworks(s *suite) []network {
	plain := s.plainNetworks()
	if len(plain) == 0 {
		return nil
	}
	var all []network
	values, objects := map[string]int{}, textOfObjects(plain[0].result.Objects)
	for _, v := range s.variantsOf(plain[0]) {
		if values[v.path] < mostValues && textOfObjects(v.result.Objects) != objects {
			values[v.path]++
			all = append(all, v.network)
		}
	}
	return all
}

// drawnNetworks are networks of one cluster: the first without config, if that is possible,
// and others with random configs, which no test author would think of.
func drawnNetworks(s *suite) []network {
	m, configs := newMutator(s), []string{""}
	for range mutations / 3 {
		configs = append(configs, m.next())
	}
	var all []network
	for _, config := range configs {
		if n := s.buildWith(config, clustersFor(s.plugin)[0]); n.renders() {
			all = append(all, n)
		}
	}
	return all
}
