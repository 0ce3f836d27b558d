// SPDX-License-Identifier: Apache-2.0

package manifest_test

import (
	"testing"
	"testing/fstest"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/plugin/manifest"
)

func TestObjectsHaveTheirKubernetesType(t *testing.T) {
	g := NewWithT(t)
	objects, err := manifest.Decode("two.yaml", `
# A document of nothing but a comment.
---
apiVersion: v1
kind: Service
metadata: {name: example}
spec: {ports: [{port: 80, targetPort: http}]}
---
apiVersion: example.com/v1
kind: Example
metadata: {name: example}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: examples.example.com}
`)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(objects).To(HaveLen(3))
	g.Expect(plugin.AppendJSON(nil, objects[0])).To(BeEquivalentTo(
		`{"apiVersion":"v1","kind":"Service","metadata":{"name":"example"},"spec":{"ports":[{"port":80,"targetPort":"http"}]}}`))
	g.Expect(objects[0]).To(BeAssignableToTypeOf(&corev1.Service{}))
	g.Expect(objects[1]).To(BeAssignableToTypeOf(&unstructured.Unstructured{}))
	g.Expect(objects[2]).To(BeAssignableToTypeOf(&apiextensionsv1.CustomResourceDefinition{}))
}

func TestMistakesAreFound(t *testing.T) {
	for name, test := range map[string]struct{ content, says string }{
		"no YAML":          {"a: b: c", "bad.yaml"},
		"no kind":          {"apiVersion: v1", "no apiVersion or kind"},
		"an unknown field": {"{apiVersion: v1, kind: Service, metadata: {name: example}, specs: {}}", `unknown field "specs"`},
		"a field twice":    {"{apiVersion: v1, kind: Service, kind: Service}", "kind"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			_, err := manifest.Decode("bad.yaml", test.content)
			g.Expect(err).To(MatchError(ContainSubstring(test.says)))
			objects := manifest.Constants(fstest.MapFS{"bad.yaml": {Data: []byte(test.content)}}, "bad.yaml")
			g.Expect(func() { objects() }).To(PanicWith(MatchError(ContainSubstring("bad.yaml"))))
		})
	}
	NewWithT(t).Expect(func() { manifest.Constants(fstest.MapFS{}, "missing.yaml")() }).To(PanicWith(MatchError(ContainSubstring("missing.yaml"))))
}

func TestConstantsAreReadOnce(t *testing.T) {
	g := NewWithT(t)
	objects := manifest.Constants(fstest.MapFS{"one.yaml": {Data: []byte("{apiVersion: v1, kind: Service, metadata: {name: example}}")}}, "one.yaml")
	g.Expect(objects()[0]).To(BeIdenticalTo(objects()[0]))
	g.Expect(objects()[0]).To(BeAssignableToTypeOf(&plugin.Constant{}))
}
