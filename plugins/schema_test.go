// SPDX-License-Identifier: Apache-2.0

package plugins_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/internal/explain"
	"github.com/trellis-network/trellis/pipeline"
	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/plugins"
	"github.com/trellis-network/trellis/providers"
)

// editor validates configs as an editor with a plugin's schema does.
type editor struct {
	schema   *jsonschema.Schema
	document map[string]any
	// written is how many of twenty fields a config has that is drawn.
	written int
}

func newEditor(t *testing.T, p *plugin.Plugin) editor {
	t.Helper()
	g := NewWithT(t)
	text, err := explain.Schema(p)
	g.Expect(err).NotTo(HaveOccurred())
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	g.Expect(err).NotTo(HaveOccurred())
	compiler := jsonschema.NewCompiler()
	g.Expect(compiler.AddResource("config.json", document)).To(Succeed())
	schema, err := compiler.Compile("config.json")
	g.Expect(err).NotTo(HaveOccurred())
	return editor{schema: schema, document: document.(map[string]any)}
}

func (e editor) validate(t *testing.T, config []byte) error {
	t.Helper()
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(config))
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return e.schema.Validate(value)
}

// validate checks a config as `trellis validate` does, in a cluster with both IP
// families.
func validate(t *testing.T, p *plugin.Plugin, config []byte) error {
	t.Helper()
	return validateIn(p, config, extensionsv1alpha1.IPv4, extensionsv1alpha1.IPv6).ToAggregate()
}

// validateIn checks a config in a cluster with these IP families.
func validateIn(p *plugin.Plugin, config []byte, families ...extensionsv1alpha1.IPFamily) field.ErrorList {
	all, err := pipeline.New(plugins.All(), providers.All())
	if err != nil {
		panic(err)
	}
	network := &extensionsv1alpha1.Network{}
	network.Name, network.Namespace = "network", "default"
	network.Spec.Type = p.Type
	network.Spec.ProviderConfig = &runtime.RawExtension{Raw: config}
	network.Spec.PodCIDR, network.Spec.ServiceCIDR = "10.1.0.0/16", "10.2.0.0/16"
	if families[0] == extensionsv1alpha1.IPv6 {
		network.Spec.PodCIDR, network.Spec.ServiceCIDR = "2001:db8:1::/48", "2001:db8:2::/112"
	}
	network.Spec.IPFamilies = families
	return all.Build(all.NewRequest(network, nil, plugin.Environment{})).Errors
}

// Where an editor marks something, it is because validate would.
func TestSchemasPassWhatTheExamplesWrite(t *testing.T) {
	files, err := filepath.Glob("../examples/*.yaml")
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	seen := 0
	for _, one := range plugins.All() {
		e := newEditor(t, &one)
		for _, file := range files {
			config := configIn(t, file, one.Type)
			if config == nil {
				continue
			}
			seen++
			t.Run(one.Type+" "+filepath.Base(file), func(t *testing.T) {
				if validate(t, &one, config) == nil {
					NewWithT(t).Expect(e.validate(t, config)).To(Succeed())
				} else {
					NewWithT(t).Expect(e.validate(t, config)).NotTo(Succeed())
				}
			})
		}
	}
	NewWithT(t).Expect(seen).To(BeNumerically(">", 5))
}

// configIn is the config of a Network or Shoot of this type, or nil.
func configIn(t *testing.T, file, networkType string) []byte {
	t.Helper()
	g := NewWithT(t)
	text, err := os.ReadFile(file)
	g.Expect(err).NotTo(HaveOccurred())
	type networking struct {
		Type           string          `json:"type"`
		ProviderConfig json.RawMessage `json:"providerConfig"`
	}
	var object struct {
		Spec struct {
			networking
			Networking networking `json:"networking"`
		} `json:"spec"`
	}
	g.Expect(yaml.Unmarshal(text, &object)).To(Succeed())
	for _, n := range []networking{object.Spec.networking, object.Spec.Networking} {
		if n.Type == networkType && len(n.ProviderConfig) > 0 {
			return n.ProviderConfig
		}
	}
	return nil
}

// Each field gets values of wrong types, values that its enum lacks, and fields
// that it lacks: editors and validate refuse them alike.
func TestSchemasRefuseWhatValidateRefuses(t *testing.T) {
	for _, one := range plugins.All() {
		e := newEditor(t, &one)
		mistakes := map[string][]byte{}
		e.collect(mistakes, nil, e.document)
		NewWithT(t).Expect(len(mistakes)).To(BeNumerically(">", 10))
		for _, name := range slices.Sorted(maps.Keys(mistakes)) {
			t.Run(one.Type+"."+name, func(t *testing.T) {
				g := NewWithT(t)
				g.Expect(e.validate(t, mistakes[name])).NotTo(Succeed(), "the schema passes %s", mistakes[name])
				g.Expect(validate(t, &one, mistakes[name])).To(HaveOccurred(), "validate passes %s", mistakes[name])
			})
		}
	}
}

// collect makes configs that are wrong in one field each.
func (e editor) collect(into map[string][]byte, path []string, schema map[string]any) {
	add := func(what string, path []string, value any) {
		raw, err := json.Marshal(e.with(path, value))
		if err != nil {
			panic(err)
		}
		into[strings.Join(path, ".")+" "+what] = raw
	}
	wrong := map[string]any{"string": 7, "boolean": "true", "integer": "7", "array": "a", "object": []any{}, "": map[string]any{}}
	if len(path) > 0 {
		add("of another type", path, wrong[typeOf(schema)])
	}
	if len(path) > 0 && typeOf(schema) != "array" {
		add("as a list", path, []any{"a"})
	}
	if schema["enum"] != nil {
		add("not in the enum", path, "no-such-value")
	}
	if typeOf(schema) != "object" {
		return
	}
	properties, _ := schema["properties"].(map[string]any)
	add("with an unknown field", append(slices.Clone(path), "noSuchField"), true)
	for name, inner := range properties {
		e.collect(into, append(slices.Clone(path), name), inner.(map[string]any))
		add("with another case", append(slices.Clone(path), strings.ToUpper(name)), true)
	}
	if schema["required"] != nil {
		add("without what is required", path, map[string]any{})
	}
}

// typeOf is the type that a schema demands, of what is not null; empty if there is
// more than one.
func typeOf(schema map[string]any) string {
	if names, ok := schema["type"].([]any); ok {
		return names[0].(string)
	}
	name, _ := schema["type"].(string)
	return name
}

// with is a config in which value stands at path and all else is fine.
func (e editor) with(path []string, value any) any {
	schema, config := e.document, map[string]any{}
	at := config
	for i, name := range path {
		properties, _ := schema["properties"].(map[string]any)
		required, _ := schema["required"].([]any)
		for _, other := range required {
			if enum := properties[other.(string)].(map[string]any)["enum"]; enum != nil {
				at[other.(string)] = enum.([]any)[0]
			}
		}
		if i == len(path)-1 {
			at[name] = value
			break
		}
		inner := map[string]any{}
		at[name], at = inner, inner
		schema, _ = properties[name].(map[string]any)
	}
	return config
}
