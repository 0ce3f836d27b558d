// SPDX-License-Identifier: Apache-2.0

package plugintest

import (
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"

	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/pipeline"
	"github.com/trellis-network/trellis/plugin"
)

// network is a case in a cluster, and what the pipeline makes of it.
type network struct {
	name, caseName string
	cluster        cluster
	request        pipeline.Request
	result         pipeline.Result
	// config is what is in force; nil if it cannot be decoded.
	config any
	// written are the values that the user wrote, and inForce those in force, by path and
	// as JSON.
	written, inForce map[string]string
}

// build completes a network that has a name and a request.
func (s *suite) build(n network) network {
	n.result = s.pipeline.Build(n.request)
	config, errs := s.plugin.Decode(n.result.Config, nil)
	if n.config = config; len(errs) > 0 {
		n.config = nil
	}
	n.written, n.inForce = flatten(n.request.Spec.ProviderConfig.Raw), flatten(n.result.Config)
	return n
}

func (s *suite) buildWith(config string, in cluster) network {
	return s.build(network{name: where(config, in), cluster: in, request: s.request(Case{Config: config}, in)})
}

func where(config string, in cluster) string {
	return fmt.Sprintf("a cluster with %s; the config was %s", in.name, config)
}

func (s *suite) allNetworks() []network {
	var all []network
	for _, c := range s.cases {
		for _, in := range clustersFor(s.plugin) {
			name := fmt.Sprintf("case %q in a cluster with %s", c.Name, in.name)
			all = append(all, s.build(network{name: name, caseName: c.Name, cluster: in, request: s.request(c, in)}))
		}
	}
	return all
}

// plainNetworks are those with objects in clusters that nothing is special about.
func (s *suite) plainNetworks() []network {
	return slices.DeleteFunc(slices.Clone(s.networks()), func(n network) bool { return !n.cluster.isPlain() || !n.renders() })
}

// renders reports whether there are objects.
func (n *network) renders() bool { return len(n.result.Errors) == 0 }

// valueAt is a value in force, as JSON, or a fact; empty if there is none.
func (n *network) valueAt(path string) string {
	if fact := n.request.Facts.Value(plugin.Fact(path)); fact != nil {
		return fmt.Sprint(fact)
	}
	return n.inForce[path]
}

// input is what hooks get for the network, created for each call.
func (n *network) input() *plugin.Input {
	return &plugin.Input{
		Facts: n.request.Facts, Environment: n.request.Environment,
		Decisions: plugin.Decisions{MaxUnavailable: atATime, FromAnnotation: true},
	}
}

// request is for a case in a cluster, each time with facts of its own. Its ProviderConfig is
// empty if the user wrote nothing, and never nil.
func (s *suite) request(c Case, in cluster) pipeline.Request {
	facts := in.input(s.plugin.FeatureGates, c.In)
	return pipeline.Request{
		Name: "network", Namespace: facts.Namespace, Author: pipeline.AuthorNetwork,
		Spec: extensionsv1alpha1.NetworkSpec{
			Type: s.plugin.Type, ProviderConfig: &runtime.RawExtension{Raw: []byte(c.Config)},
			PodCIDR: facts.PodCIDR, ServiceCIDR: facts.ServiceCIDR, IPFamilies: facts.WantedIPFamilies,
		},
		Facts: facts.Facts, Environment: facts.Environment, MaxUnavailable: strconv.Itoa(atATime),
	}
}

// variant is a network whose user states one value more than another's.
type variant struct {
	network
	path, json string
}

// variantsOf are the possible variants of a network, with fields that it leaves out.
func (s *suite) variantsOf(base network) []variant {
	rows := optionRows(s.readREADME())
	var all []variant
	for _, v := range s.values {
		for _, path := range v.paths() {
			if _, stated := base.written[path]; stated || v.inList() {
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

func (s *suite) with(base network, path, value string) variant {
	config := map[string]any{}
	_ = json.Unmarshal(base.request.Spec.ProviderConfig.Raw, &config) // nothing is a config too
	plugin.Put(config, path, json.RawMessage(value))
	base.name, base.caseName = fmt.Sprintf("%s, with %s: %s", base.name, path, value), ""
	base.request.Spec.ProviderConfig = &runtime.RawExtension{Raw: []byte(textOf(config))}
	return variant{s.build(base), path, value}
}

var quoted = regexp.MustCompile("`([^`]+)`")

// valuesAt are values to try at a path, as JSON: what is in force, what stands in cases,
// what the README names in the field's row, and what fits the kind.
func (s *suite) valuesAt(path string, kind reflect.Kind, documented, inForce string) []string {
	var values []string
	add := func(more ...string) {
		for _, one := range more {
			if one != "" && !slices.Contains(values, one) {
				values = append(values, one)
			}
		}
	}
	add(inForce)
	for _, c := range s.cases {
		add(flatten([]byte(c.Config))[path])
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
func (s *suite) variedNetworks() []network {
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

// drawnNetworks are networks of the first cluster: without config, if that is possible, and
// with random configs, which no test author would think of.
func (s *suite) drawnNetworks() []network {
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
