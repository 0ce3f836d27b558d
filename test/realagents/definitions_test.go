// SPDX-License-Identifier: Apache-2.0

package realagents

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/yaml"

	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/plugins/calico"
	"github.com/trellis-network/trellis/test/built"
	"github.com/trellis-network/trellis/test/harness"
	"github.com/trellis-network/trellis/test/install"
	"github.com/trellis-network/trellis/test/sandbox"
)

type builtNetwork struct{ *built.Network }

// Trellis' definitions describe what users write. What Calico writes beside that must be kept,
// too: an object with all fields of Calico's own definition comes back as it was written.
func TestDefinitionsKeepEveryFieldOfCalico(t *testing.T) {
	source := os.Getenv("CALICO_SRC")
	if source == "" {
		t.Skip("CALICO_SRC is missing: the path of a checkout of Calico, whose definitions this reads")
	}
	files, err := filepath.Glob(filepath.Join(source, "libcalico-go/config/crd/*.yaml"))
	g := NewWithT(t)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(files).NotTo(BeEmpty(), "definitions in %s", source)
	c := clusterWithDefinitions(t)
	kept, defined := 0, 0
	for _, file := range files {
		content, err := os.ReadFile(file)
		g.Expect(err).NotTo(HaveOccurred())
		upstream := &apiextensionsv1.CustomResourceDefinition{}
		g.Expect(yaml.Unmarshal(content, upstream)).To(Succeed())
		defined++
		t.Run(upstream.Spec.Names.Kind, func(t *testing.T) {
			g := NewWithT(t)
			version := upstream.Spec.Versions[0]
			object := &unstructured.Unstructured{Object: map[string]any{}}
			for name, part := range version.Schema.OpenAPIV3Schema.Properties {
				isStatus := name == "status" && version.Subresources != nil && version.Subresources.Status != nil
				if (name == "spec" || name == "status") && !isStatus {
					object.Object[name] = filled(&part)
				}
			}
			object.SetAPIVersion(upstream.Spec.Group + "/" + version.Name)
			object.SetKind(upstream.Spec.Names.Kind)
			object.SetName("filled")
			if upstream.Spec.Scope == apiextensionsv1.NamespaceScoped {
				object.SetNamespace("default")
			}
			written := plain(t, object)
			g.Expect(c.Create(t.Context(), object)).To(Succeed())
			read := plain(t, object)
			delete(written, "metadata") // it gets more
			for part, content := range written {
				g.Expect(read).To(HaveKeyWithValue(part, content))
			}
			kept++
		})
	}
	t.Logf("%d of %d kinds keep every field", kept, defined)
}

// clusterWithDefinitions is a cluster with the definitions that a network of type calico brings.
func clusterWithDefinitions(t *testing.T) *harness.Cluster {
	t.Helper()
	g := NewWithT(t)
	c, err := harness.Connect(sandbox.ForTest(t, sandbox.Options{}).Seed.Kubeconfig)
	g.Expect(err).NotTo(HaveOccurred())
	networks := built.By[*builtNetwork]{New: calico.New, As: func(n *built.Network) *builtNetwork { return &builtNetwork{n} }}
	for _, object := range networks.Build(t, "").Objects.For(plugin.Shoot) {
		if definition, ok := object.(*apiextensionsv1.CustomResourceDefinition); ok {
			g.Expect(c.Create(t.Context(), definition.DeepCopy())).To(Succeed())
		}
	}
	const poll = 100 * time.Millisecond
	g.Expect(wait.PollUntilContextTimeout(t.Context(), poll, harness.Patience, true, func(ctx context.Context) (bool, error) {
		established, all, err := install.Established(ctx, c)
		return all > 0 && established == all, err
	})).To(Succeed())
	return c
}

// plain is the object as its JSON says.
func plain(t *testing.T, object *unstructured.Unstructured) map[string]any {
	t.Helper()
	content, err := json.Marshal(object.Object)
	var value map[string]any
	if err == nil {
		err = json.Unmarshal(content, &value)
	}
	if err != nil {
		t.Fatal(err)
	}
	return value
}

// filled is a value with all fields of a schema.
func filled(s *apiextensionsv1.JSONSchemaProps) any {
	if len(s.Enum) > 0 {
		return enumerated(s)
	}
	if s.Type == "" && len(s.AllOf) > 0 {
		return filled(&s.AllOf[0])
	}
	switch {
	case s.XIntOrString:
		return "80:90"
	case s.Format == "date-time":
		return "2026-01-01T00:00:00Z"
	}
	switch s.Type {
	case "array":
		return []any{filled(s.Items.Schema)}
	case "string":
		return "text"
	case "integer":
		return atLeast(s.Minimum)
	case "number":
		return 1.5
	case "boolean":
		return true
	}
	value := map[string]any{}
	for name, property := range s.Properties {
		value[name] = filled(&property)
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
		value["key"] = filled(s.AdditionalProperties.Schema)
	}
	if len(value) == 0 {
		value["any"] = "thing"
	}
	return value
}

// enumerated is the first value that is not empty.
func enumerated(s *apiextensionsv1.JSONSchemaProps) any {
	var value any
	for _, each := range s.Enum {
		if err := json.Unmarshal(each.Raw, &value); err == nil && value != "" {
			break
		}
	}
	return value
}

// atLeast is a whole number that is not below a bound, which may be absent.
func atLeast(bound *float64) int64 {
	const usual = 7
	if bound == nil {
		return usual
	}
	return max(usual, int64(*bound))
}
