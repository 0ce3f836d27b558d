// SPDX-License-Identifier: Apache-2.0

package charts

import (
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
)

func TestImagesAreReplacedAsInGardenersExtensions(t *testing.T) {
	g := NewWithT(t)
	objects := release{chart: "trellis-operator", name: "trellis", namespace: "extension-trellis", values: `
images: {calico-cni: "mirror.example.org/cni:mine"}
imageVectorOverwrite: |
  images:
  - {name: calico-node, sourceRepository: github.com/projectcalico/calico, repository: mirror.example.org/node, tag: v3}
  - {name: calico-typha, repository: mirror.example.org/typha, tag: "sha256:` + digest + `"}
  - {name: calico-kube-controllers, ref: "mirror.example.org/kube-controllers:v3@sha256:` + digest + `"}
  - {name: calico-cni, repository: mirror.example.org/cni, tag: theirs, architectures: [amd64]}
  - {name: calico-cni, repository: mirror.example.org/cni, tag: theirs, architectures: [arm64]}
`}.render(t)
	g.Expect(configurationOf(t, objects).Images).To(Equal(map[string]string{
		"calico-node":             "mirror.example.org/node:v3",
		"calico-typha":            "mirror.example.org/typha@sha256:" + digest,
		"calico-kube-controllers": "mirror.example.org/kube-controllers:v3@sha256:" + digest,
		"calico-cni":              "mirror.example.org/cni:mine",
	}))
}

func TestImagesThatTrellisCannotTellApartAreRefused(t *testing.T) {
	for entries, message := range map[string]string{
		`[{name: calico-node, repository: a, tag: v1, targetVersion: ">= 1.30"}]`:                                                                          "Trellis uses one image in all shoots",
		`[{name: calico-node, repository: a, tag: v1, architectures: [amd64]}, {name: calico-node, repository: a-arm64, tag: v1, architectures: [arm64]}]`: "Trellis uses one image in all shoots",
		`[{name: calico-node, repository: a}]`: `the image "calico-node" has neither a ref nor a tag`,
		`[`:                                    "imageVectorOverwrite: ",
	} {
		_, err := release{chart: "trellis-operator", name: "trellis", namespace: "extension-trellis", values: "imageVectorOverwrite: |\n  images: " + entries}.tryRender(t)
		NewWithT(t).Expect(err).To(MatchError(ContainSubstring(message)), entries)
	}
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
