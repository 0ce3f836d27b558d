// SPDX-License-Identifier: Apache-2.0

package install

import (
	"embed"
	"encoding/json"
	"io/fs"
	"maps"
	"slices"
	"testing"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"github.com/trellis-network/trellis/config"
)

// A seed with Trellis' CRDs and one with Gardener's CRDs store the same objects, except that
// Gardener's prune the older fields of a Network's spec. They reject the same objects,
// except for changes of that spec. So a controller's test that passes with one set of CRDs
// passes with the other. Only tests of these fields and of what API servers reject need
// both sets, and test/contract has seeds with each.
func TestDifferencesFromGardenersSchemas(t *testing.T) {
	g := NewWithT(t)
	ours, gardeners := definitions(g, config.Manifests, "crd/*.yaml"), definitions(g, gardener, "gardener/crd/*.yaml")
	differences := map[string][]string{}
	for kind, theirs := range gardeners {
		g.Expect(ours).To(HaveKey(kind))
		differences[kind] = different(ours[kind], theirs)
	}
	g.Expect(differences).To(Equal(map[string][]string{
		"Cluster":         nil,
		"ManagedResource": nil,
		"Network":         {".spec", ".spec.cloudProvider", ".spec.clusterCIDR"},
	}))

	// The spec differs in its required fields and in its validation rules.
	spec := ours["Network"][".spec"]
	g.Expect(spec.XValidations).NotTo(BeEmpty())
	spec.XValidations = nil
	spec.Required = slices.Sorted(slices.Values(append(spec.Required, "podCIDR")))
	g.Expect(spec).To(Equal(gardeners["Network"][".spec"]))
}

// definitions returns the schema of each field, by kind and path. A field's schema does not
// include the fields below it.
func definitions(g *WithT, files embed.FS, pattern string) map[string]map[string]apiextensionsv1.JSONSchemaProps {
	names, err := fs.Glob(files, pattern)
	g.Expect(err).NotTo(HaveOccurred())
	all := map[string]map[string]apiextensionsv1.JSONSchemaProps{}
	for _, name := range names {
		document, err := files.ReadFile(name)
		g.Expect(err).NotTo(HaveOccurred())
		crd := &apiextensionsv1.CustomResourceDefinition{}
		g.Expect(yaml.Unmarshal(document, crd)).To(Succeed())
		g.Expect(crd.Spec.Versions).To(HaveLen(1))
		g.Expect(crd.Spec.Versions[0].Subresources).To(Equal(&apiextensionsv1.CustomResourceSubresources{Status: &apiextensionsv1.CustomResourceSubresourceStatus{}}), name)
		fields := map[string]apiextensionsv1.JSONSchemaProps{}
		flatten(fields, "", *crd.Spec.Versions[0].Schema.OpenAPIV3Schema)
		all[crd.Spec.Names.Kind] = fields
	}
	return all
}

func flatten(into map[string]apiextensionsv1.JSONSchemaProps, path string, schema apiextensionsv1.JSONSchemaProps) {
	for name, property := range schema.Properties {
		flatten(into, path+"."+name, property)
	}
	if schema.Items != nil {
		flatten(into, path+"[]", *schema.Items.Schema)
	}
	if schema.AdditionalProperties != nil {
		flatten(into, path+"{}", *schema.AdditionalProperties.Schema)
	}
	schema.Properties, schema.Items, schema.AdditionalProperties, schema.Description = nil, nil, nil, ""
	schema.Required = slices.Sorted(slices.Values(schema.Required))
	into[path] = schema
}

// different returns the paths of the fields that differ, or that only one side has.
func different(a, b map[string]apiextensionsv1.JSONSchemaProps) []string {
	paths := map[string]bool{}
	for path := range a {
		paths[path] = true
	}
	for path := range b {
		paths[path] = true
	}
	maps.DeleteFunc(paths, func(path string, _ bool) bool {
		one, hasOne := a[path]
		other, hasOther := b[path]
		asJSON, _ := json.Marshal(one)
		otherAsJSON, _ := json.Marshal(other)
		return hasOne && hasOther && string(asJSON) == string(otherAsJSON)
	})
	return slices.Sorted(maps.Keys(paths))
}
