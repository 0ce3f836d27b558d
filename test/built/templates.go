// SPDX-License-Identifier: Apache-2.0

package built

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/trellis-network/trellis/internal/podtemplate"
	"github.com/trellis-network/trellis/plugin"
)

// Templates returns for each workload among objects, as "Deployment name", a digest of its pod
// template. Two templates with one digest start the same pods: a controller replaces no pod when
// the one follows the other. What API servers fill in makes no difference, and neither do
//   - the values of annotations checksum/…, which follow from other objects,
//   - what the containers in scripts run: their commands, variables and mounts are their authors' own,
//   - in templates that have such containers, whose pods are replaced anyway, the order of volumes,
//     mounts and the like.
func Templates(t testing.TB, objects []map[string]any, scripts ...string) map[string]string {
	t.Helper()
	digests := map[string]string{}
	for _, object := range objects {
		template, err := podtemplate.Of(object)
		if err != nil {
			t.Fatal(err)
		}
		if template == nil {
			continue
		}
		replaced := blank(template, scripts)
		content, err := podtemplate.Plain(template)
		if err != nil {
			t.Fatal(err)
		}
		if replaced {
			sortNamed("", content)
		}
		raw, err := json.Marshal(content)
		if err != nil {
			t.Fatal(err)
		}
		name, _, _ := unstructured.NestedString(object, "metadata", "name")
		sum := sha256.Sum256(raw)
		digests[object["kind"].(string)+" "+name] = hex.EncodeToString(sum[:])
	}
	return digests
}

// blank removes from a template the values of checksums, and what the containers in scripts run. It
// reports whether there are such containers.
func blank(template *corev1.PodTemplateSpec, scripts []string) (some bool) {
	for name := range template.Annotations {
		if strings.HasPrefix(name, "checksum/") {
			template.Annotations[name] = ""
		}
	}
	for _, containers := range [][]corev1.Container{template.Spec.InitContainers, template.Spec.Containers} {
		for i := range containers {
			if container := &containers[i]; slices.Contains(scripts, container.Name) {
				container.Command, container.Args, container.Env, container.VolumeMounts = nil, nil, nil, nil
				some = true
			}
		}
	}
	return some
}

// sortNamed sorts lists of elements with names, but for containers, which start in their order.
func sortNamed(field string, value any) {
	switch value := value.(type) {
	case map[string]any:
		for name, inner := range value {
			sortNamed(name, inner)
		}
	case []any:
		for _, element := range value {
			sortNamed("", element)
		}
		if strings.HasSuffix(strings.ToLower(field), "containers") {
			return
		}
		slices.SortStableFunc(value, func(a, b any) int { return strings.Compare(nameOf(a), nameOf(b)) })
	}
}

func nameOf(element any) string {
	fields, _ := element.(map[string]any)
	for _, field := range []string{"mountPath", "name", "key"} {
		if name, ok := fields[field].(string); ok {
			return name
		}
	}
	return ""
}

// Templates returns the digests of the workloads' pod templates: see the function.
func (n *Network) Templates(scripts ...string) map[string]string {
	n.T.Helper()
	var objects []map[string]any
	for _, object := range n.Objects.For(plugin.Shoot) {
		objects = append(objects, Document(n.T, object))
	}
	return Templates(n.T, objects, scripts...)
}

// ExpectTemplates compares the digests of pod templates with those in a file, for each of the
// networks that it names; they are count.
func ExpectTemplates(t *testing.T, file string, count int, templates func(network string) map[string]string) {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]map[string]string{}
	if err := yaml.UnmarshalStrict(raw, &known); err != nil {
		t.Fatal(err)
	}
	if len(known) != count {
		t.Errorf("%s has %d networks, the test %d", file, len(known), count)
	}
	for name, want := range known {
		gomega.NewWithT(t).Expect(templates(name)).To(gomega.Equal(want), name)
	}
}
