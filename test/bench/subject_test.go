// SPDX-License-Identifier: Apache-2.0

package bench_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/yaml"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	"github.com/trellis-network/trellis/pipeline"
	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/plugins"
	"github.com/trellis-network/trellis/plugins/calico"
	"github.com/trellis-network/trellis/providers"
)

// subject is the network that the benchmarks measure: Calico with all defaults, in a Shoot
// whose spec sets all fields.
type subject struct {
	pipeline *pipeline.Pipeline
	request  pipeline.Request
	// longer are CRDs that replace the network's own, by name.
	longer map[string]*plugin.Constant
	// content is the last content. The next one reuses its memory.
	content []byte
}

// newSubject makes a subject. If size is not 0, it makes the CRDs longer, so that all
// objects together are about size bytes of YAML.
func newSubject(tb testing.TB, size int) *subject {
	tb.Helper()
	p, err := pipeline.New(plugins.All(), providers.All())
	if err != nil {
		tb.Fatal(err)
	}
	shoot := exampleShoot()
	network, err := pipeline.NetworkForShoot(shoot)
	if err != nil {
		tb.Fatal(err)
	}
	s := &subject{pipeline: p, request: p.NewRequest(network, shoot, plugin.Environment{})}
	if size > 0 {
		s.lengthen(tb, size)
	}
	return s
}

func exampleShoot() *corev1beta1.Shoot {
	shoot := &corev1beta1.Shoot{}
	shoot.Name, shoot.Namespace = "one", "garden-dev"
	shoot.Spec.Provider = corev1beta1.Provider{Type: "local", Workers: []corev1beta1.Worker{{Maximum: 50}}}
	shoot.Spec.Kubernetes.Version = "1.36.3"
	shoot.Spec.Kubernetes.KubeProxy = &corev1beta1.KubeProxy{Enabled: new(true), Mode: new(corev1beta1.ProxyModeIPTables)}
	shoot.Spec.Kubernetes.VerticalPodAutoscaler = &corev1beta1.VerticalPodAutoscaler{Enabled: true}
	shoot.Spec.Networking = &corev1beta1.Networking{
		Type: new(calico.Type), Pods: new("100.64.0.0/12"), Services: new("100.96.0.0/13"), Nodes: new("10.250.0.0/16"),
	}
	shoot.Status.TechnicalID = "shoot--dev--one"
	shoot.Status.Networking = &corev1beta1.NetworkingStatus{
		Pods: []string{"100.64.0.0/12"}, Services: []string{"100.96.0.0/13"}, Nodes: []string{"10.250.0.0/16"},
	}
	return shoot
}

func (s *subject) build() pipeline.Result { return s.pipeline.Build(s.request) }

// objects returns all objects that Build renders for the shoot.
func (s *subject) objects(tb testing.TB) []plugin.Object {
	result := s.build()
	if len(result.Errors) > 0 {
		tb.Fatal(result.Errors.ToAggregate())
	}
	objects := result.Objects.For(plugin.Shoot)
	if s.longer == nil {
		return objects
	}
	for i, object := range objects {
		if longer, ok := s.longer[object.GetName()]; ok {
			objects[i] = longer
		}
	}
	return objects
}

// buildAndSerialize does what Trellis does for each network: it builds the objects of the
// Request, and encodes them as the content of the Secret.
func (s *subject) buildAndSerialize(tb testing.TB) []byte {
	var err error
	if s.content, err = pipeline.AppendDocuments(s.content[:0], s.objects(tb)); err != nil {
		tb.Fatal(err)
	}
	return s.content
}

func (s *subject) chart(tb testing.TB) *helm {
	return chartOf(tb, s.objects(tb), map[string]string{"podCIDR": s.request.Spec.PodCIDR, "nodeCIDR": s.request.Facts.NodeCIDR})
}

// lengthen adds described fields to the CRDs until all objects together have the size.
func (s *subject) lengthen(tb testing.TB, size int) {
	var definitions []*apiextensionsv1.CustomResourceDefinition
	for _, object := range s.objects(tb) {
		if object.GetObjectKind().GroupVersionKind().Kind == "CustomResourceDefinition" {
			definitions = append(definitions, object.DeepCopyObject().(*apiextensionsv1.CustomResourceDefinition))
		}
	}
	const fieldSize = 240 // bytes of a field in YAML
	missing := size - len(s.chart(tb).render(tb))
	fields := missing / fieldSize / len(definitions)
	s.longer = map[string]*plugin.Constant{}
	for _, definition := range definitions {
		spec := &definition.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties
		*spec = maps.Clone(*spec)
		described := (*spec)["spec"]
		described.Properties = maps.Clone(described.Properties)
		if described.Properties == nil {
			described.Properties = map[string]apiextensionsv1.JSONSchemaProps{}
		}
		for i := range fields {
			described.Properties[fmt.Sprintf("setting%03d", i)] = apiextensionsv1.JSONSchemaProps{
				Type: "string", Pattern: "^[A-Za-z0-9.:/-]*$",
				Description: strings.Repeat("What the setting does, and its default. ", 3),
			}
		}
		(*spec)["spec"] = described
		s.longer[definition.Name] = plugin.NewConstant(definition)
	}
}

// expectSame compares two streams of documents, regardless of their order.
func expectSame(t *testing.T, one, two []byte) {
	t.Helper()
	NewWithT(t).Expect(decode(t, two)).To(Equal(decode(t, one)))
}

func decode(t *testing.T, stream []byte) map[string]any {
	t.Helper()
	found := map[string]any{}
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(stream), 4096)
	for {
		var document map[string]any
		err := decoder.Decode(&document)
		if errors.Is(err, io.EOF) {
			return found
		}
		if err != nil {
			t.Fatal(err)
		}
		found[fmt.Sprint(document["kind"], " ", document["metadata"].(map[string]any)["name"])] = document
	}
}
