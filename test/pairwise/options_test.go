// SPDX-License-Identifier: Apache-2.0

package pairwise

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	"github.com/trellis-network/trellis/internal/explain"
	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/plugins/calico"
	calicov1alpha1 "github.com/trellis-network/trellis/plugins/calico/v1alpha1"
	"github.com/trellis-network/trellis/plugins/cilium"
	ciliumv1alpha1 "github.com/trellis-network/trellis/plugins/cilium/v1alpha1"
	"github.com/trellis-network/trellis/plugins/flannel"
	flannelv1alpha1 "github.com/trellis-network/trellis/plugins/flannel/v1alpha1"
	"github.com/trellis-network/trellis/providers"
)

// option is a dimension with a function for each value, which applies the value to a scenario.
type option struct {
	Dimension
	apply []func(*scenario)
}

// value adds a value to an option.
func (o option) value(name string, apply func(*scenario)) option {
	o.Values, o.apply = append(o.Values, name), append(o.apply, apply)
	return o
}

// setting is a field of the NetworkConfig: it is absent, or has one of the values, which are
// JSON.
func setting(path string, values ...string) option {
	o := named(path).value("absent", func(*scenario) {})
	for _, value := range values {
		o = o.value(value, func(s *scenario) { s.set(path, value) })
	}
	return o
}

func named(name string) option { return option{Dimension: Dimension{Name: name}} }

func toggle(name string, apply func(s *scenario)) option {
	return named(name).value("no", func(*scenario) {}).value("yes", apply)
}

// facts returns the options outside the NetworkConfig.
func facts(p plugin.Plugin) []option {
	list := []option{
		named("families").
			value("IPv4", func(s *scenario) { s.families = []string{"IPv4"} }).
			value("IPv6", func(s *scenario) { s.families = []string{"IPv6"} }).
			value("IPv4,IPv6", func(s *scenario) { s.families = []string{"IPv4", "IPv6"} }).
			value("IPv6,IPv4", func(s *scenario) { s.families = []string{"IPv6", "IPv4"} }).
			value("IPv4, to get IPv6", func(s *scenario) { s.families, s.migrating = []string{"IPv4", "IPv6"}, true }),
		named("kube-proxy").
			value("default", func(*scenario) {}).
			value("IPVS", func(s *scenario) { s.kubeProxy.Mode = new(corev1beta1.ProxyModeIPVS) }).
			value("NFTables", func(s *scenario) { s.kubeProxy.Mode = new(corev1beta1.ProxyModeNFTables) }).
			value("none", func(s *scenario) { s.kubeProxy.Enabled = new(false) }),
		named("nodes").
			value("not stated", func(*scenario) {}).
			value("in the spec", func(s *scenario) { s.nodes = nodesInSpec }).
			value("in the status", func(s *scenario) { s.nodes = nodesInStatus }),
		toggle("VPA", func(s *scenario) { s.vpa = true }),
		toggle("node-local DNS", func(s *scenario) { s.nodeLocalDNS = true }),
		toggle("many nodes", func(s *scenario) { s.nodesAtMost = 5000 }),
		toggle("standalone", func(s *scenario) { s.standalone = true }),
	}
	infrastructure := named("infrastructure").value("unknown", func(*scenario) {})
	for _, provider := range providers.All() {
		infrastructure = infrastructure.value(provider.Type(), func(s *scenario) { s.provider = provider.Type() })
	}
	list = append(list, infrastructure)
	for _, gate := range p.FeatureGates {
		list = append(list, toggle("gate "+gate.Name, func(s *scenario) { s.gates[gate.Name] = !gate.Default }))
	}
	return list
}

// subject is a plugin to test.
type subject struct {
	plugin.Plugin
	// config is the type of its NetworkConfig, and fields are options of that, with values
	// that make a difference.
	config reflect.Type
	fields []option
}

var subjects = []subject{
	{calico.New(), reflect.TypeFor[calicov1alpha1.NetworkConfig](), calicoFields},
	{cilium.New(), reflect.TypeFor[ciliumv1alpha1.NetworkConfig](), ciliumFields},
	{flannel.New(), reflect.TypeFor[flannelv1alpha1.NetworkConfig](), flannelFields},
}

func (s *subject) options(t *testing.T) []option {
	t.Helper()
	return slices.Concat(facts(s.Plugin), s.fields, s.otherFields(t))
}

// otherFields are options for all fields that fields lacks: both booleans, all values of an
// enum, or the examples.
func (s *subject) otherFields(t *testing.T) []option {
	t.Helper()
	g := NewWithT(t)
	tried := "\n" + strings.Join(triedPaths(t, s.fields), "\n") + "\n"
	config, err := explain.Of(&s.Plugin)
	g.Expect(err).NotTo(HaveOccurred())
	var others []option
	for _, path := range leavesOf(s.config, "") {
		if strings.Contains(tried, "\n"+path+"\n") || strings.Contains(tried, "\n"+path+".") {
			continue
		}
		field, err := config.Field(path)
		g.Expect(err).NotTo(HaveOccurred())
		values := slices.Concat(field.Allowed, field.Examples)
		if field.Type == "boolean" {
			values = []any{true, false}
		}
		g.Expect(values).NotTo(BeEmpty(), "%s of %s has neither an enum nor an example: "+
			"add +kubebuilder:example=… to the field, or setting(%[1]q, …) to %[2]sFields", path, s.Type)
		documents := make([]string, len(values))
		for i, value := range values {
			raw, err := json.Marshal(value)
			g.Expect(err).NotTo(HaveOccurred())
			documents[i] = string(raw)
		}
		others = append(others, setting(path, documents...))
	}
	return others
}

func dimensions(options []option) []Dimension {
	list := make([]Dimension, 0, len(options))
	for _, one := range options {
		list = append(list, one.Dimension)
	}
	return list
}

// A field for which no values are known fails this test.
func TestEveryFieldIsAnOption(t *testing.T) {
	for _, one := range subjects {
		t.Run(one.Type, func(t *testing.T) { one.otherFields(t) })
	}
}

// Fields that are in no table get values from their types.
func TestValuesOfFieldsComeFromTheirTypes(t *testing.T) {
	g := NewWithT(t)
	derived := map[string][]string{}
	for _, o := range (&subject{Plugin: cilium.New(), config: reflect.TypeFor[ciliumv1alpha1.NetworkConfig]()}).otherFields(t) {
		derived[o.Name] = o.Values
	}
	g.Expect(derived).To(And(
		HaveKeyWithValue("debug", []string{"absent", "true", "false"}),
		HaveKeyWithValue("loadBalancingMode", []string{"absent", `"snat"`, `"dsr"`, `"hybrid"`}),
		HaveKeyWithValue("devices", []string{"absent", `["eth0","eth1"]`}),
		HaveKeyWithValue("kubeproxy.k8sServicePort", []string{"absent", "443"})))
}

// triedPaths returns the paths of all values that the options set.
func triedPaths(t *testing.T, fields []option) []string {
	g := NewWithT(t)
	var tried []string
	for _, one := range fields {
		for v := range one.Values {
			s := scenario{config: map[string]any{}}
			one.apply[v](&s)
			raw, err := json.Marshal(s.config)
			g.Expect(err).NotTo(HaveOccurred())
			var config map[string]any
			g.Expect(json.Unmarshal(raw, &config)).To(Succeed())
			tried = append(tried, pathsOf(config, "")...)
		}
	}
	return tried
}

// pathsOf returns the paths of all values of an object that are not objects.
func pathsOf(object map[string]any, prefix string) []string {
	var paths []string
	for name, value := range object {
		if inner, ok := value.(map[string]any); ok {
			paths = append(paths, pathsOf(inner, prefix+name+".")...)
			continue
		}
		paths = append(paths, prefix+name)
	}
	return paths
}

// leavesOf returns the paths of all fields of a type that are not structs.
func leavesOf(t reflect.Type, prefix string) []string {
	var paths []string
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		inner := f.Type
		if inner.Kind() == reflect.Pointer {
			inner = inner.Elem()
		}
		switch {
		case name == "" || len(f.Index) > 1:
		case inner.Kind() == reflect.Struct:
			paths = append(paths, leavesOf(inner, prefix+name+".")...)
		default:
			paths = append(paths, prefix+name)
		}
	}
	return paths
}

// set sets the value at a dotted path of the scenario's config. The value is JSON.
func (s *scenario) set(path, value string) { plugin.Put(s.config, path, json.RawMessage(value)) }
