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

// A seed with Trellis' CRDs and one with Gardener's store the same objects, but for older
// fields of a Network's spec that Gardener's prune, and they refuse the same, but for
// changes of that spec. So a test of controllers that passes in the one passes in the
// other, and only what is about these fields, or about what API servers refuse, is to be
// tested in both: test/contract has its seeds of both sorts.
func TestWhatGardenersSchemasHaveOtherwise(t *testing.T) {
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

	// Of the spec itself, what has to be there and what may change is different.
	spec := ours["Network"][".spec"]
	g.Expect(spec.XValidations).NotTo(BeEmpty())
	spec.XValidations = nil
	spec.Required = slices.Sorted(slices.Values(append(spec.Required, "podCIDR")))
	g.Expect(spec).To(Equal(gardeners["Network"][".spec"]))
}

// definitions has the schemas of kinds: of each field, by its path, without those in it.
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

// different returns the paths of fields that differ, or that only one has.
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
