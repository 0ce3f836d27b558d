// SPDX-License-Identifier: Apache-2.0

package charts

import (
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/trellis-network/trellis/internal/imagevector"
	"github.com/trellis-network/trellis/pipeline"
	"github.com/trellis-network/trellis/plugins"
)

// The chart gives the operator the image vector as Gardener's extensions get it, and the operator reads it.
func TestImagesAreReplacedAsInGardenersExtensions(t *testing.T) {
	g := NewWithT(t)
	objects := release{chart: "trellis-operator", name: "trellis", namespace: "extension-trellis", values: `
images: {calico-cni: "mirror.example.org/cni:mine"}
imageVectorOverwrite: |
  images:
  - {name: calico-node, sourceRepository: github.com/projectcalico/calico, repository: mirror.example.org/node, tag: v3}
  - {name: calico-typha, repository: mirror.example.org/typha, tag: "sha256:` + digest + `"}
  - name: calico-cni
    repository: mirror.example.org/cni
    tag: theirs
`}.render(t)
	giveImageVector(t, objects)
	all, err := pipeline.New(plugins.All(), nil)
	g.Expect(err).NotTo(HaveOccurred())
	images, err := imagevector.Resolve(all.ImageTags(), field.NewPath("images"), configurationOf(t, objects).Images)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(images).To(Equal(map[string]string{
		"calico-node":  "mirror.example.org/node:v3",
		"calico-typha": "mirror.example.org/typha@sha256:" + digest,
		"calico-cni":   "mirror.example.org/cni:mine",
	}))
}

// giveImageVector gives this process the file that the chart gives the operator.
func giveImageVector(t *testing.T, objects []*unstructured.Unstructured) {
	t.Helper()
	g := NewWithT(t)
	container := find[appsv1.Deployment](t, objects, "Deployment").Spec.Template.Spec.Containers[0]
	var file string
	for _, variable := range container.Env {
		if variable.Name == imagevector.Variable {
			file = variable.Value
		}
	}
	g.Expect(filepath.Dir(file)).To(Equal(container.VolumeMounts[0].MountPath))
	content := find[corev1.ConfigMap](t, objects, "ConfigMap", "trellis-operator").Data[filepath.Base(file)]
	here := filepath.Join(t.TempDir(), "images.yaml")
	g.Expect(os.WriteFile(here, []byte(content), 0o600)).To(Succeed())
	t.Setenv(imagevector.Variable, here)
}

// Pods read neither file again.
func TestOtherImagesRestartTheOperator(t *testing.T) {
	sums := map[string]bool{}
	for _, values := range []string{
		"{}", "images: {calico-cni: a/b:c}", "imageVectorOverwrite: 'images: [{name: calico-cni, ref: a/b:c}]'", "imageVectorOverwrite: 'images: [{name: calico-cni, ref: a/b:d}]'",
	} {
		objects := release{chart: "trellis-operator", name: "trellis", namespace: "extension-trellis", values: values}.render(t)
		sums[find[appsv1.Deployment](t, objects, "Deployment").Spec.Template.Annotations["checksum/configuration"]] = true
	}
	NewWithT(t).Expect(sums).To(HaveLen(4))
}

// Without a tag the image has the version of the chart, and make charts states the tag.
func TestTheChartAndItsImageHaveOneVersion(t *testing.T) {
	for _, chart := range []string{"trellis-operator", "trellis-admission-runtime"} {
		g := NewWithT(t)
		objects := release{chart: chart, name: "trellis", namespace: "extension-trellis", values: "{image: {repository: registry.example.org/a}}"}.render(t)
		deployment := find[appsv1.Deployment](t, objects, "Deployment")
		g.Expect(deployment.Spec.Template.Spec.Containers[0].Image).To(Equal("registry.example.org/a:v9.8.7"))
	}
}

// A misspelled value changes nothing otherwise.
func TestWrongValuesAreRefused(t *testing.T) {
	for values, message := range map[string]string{
		"mode: Gardener":           "/mode",
		"image: {digest: abc}":     "/image/digest",
		"image: {tags: v1}":        "tags",
		"images: {calico-node: 3}": "/images/calico-node",
	} {
		_, err := release{chart: "trellis-operator", name: "trellis", namespace: "extension-trellis", values: values}.tryRender(t)
		NewWithT(t).Expect(err).To(MatchError(ContainSubstring(message)), values)
	}
}
