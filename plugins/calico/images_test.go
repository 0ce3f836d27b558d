// SPDX-License-Identifier: Apache-2.0

package calico_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/yaml"

	"github.com/trellis-network/trellis/plugin"
)

func readme(t *testing.T) string {
	t.Helper()
	raw, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// imageList returns the references of images.yaml, by name.
func imageList(t *testing.T) map[string]string {
	t.Helper()
	raw, err := os.ReadFile("images.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var list []struct{ Name, Repository, Tag string }
	if err := yaml.UnmarshalStrict(raw, &list); err != nil {
		t.Fatal(err)
	}
	references := map[string]string{}
	for _, image := range list {
		references[image.Name] = image.Repository + ":" + image.Tag
	}
	return references
}

func TestREADMEHasExactlyTheImagesThatThereAre(t *testing.T) {
	g := NewWithT(t)
	_, table, found := strings.Cut(readme(t), "\n## Images\n")
	g.Expect(found).To(BeTrue())
	table, _, _ = strings.Cut(table, "\n## ")
	documented := map[string]string{}
	for _, row := range regexp.MustCompile("(?m)^\\| `([^`]+)` \\| `([^`]+)` \\|").FindAllStringSubmatch(table, -1) {
		documented[row[1]] = row[2]
	}
	g.Expect(documented).To(Equal(imageList(t)))
}

func TestEveryImageRunsSomewhereAndCanBeReplaced(t *testing.T) {
	g := NewWithT(t)
	const all = "{multus: {enabled: true, installCNIPlugins: true}, birdExporter: {enabled: true}}"
	own := documents(t, build(t, all).Objects.Shoot)
	for name, reference := range imageList(t) {
		g.Expect(own).To(ContainSubstring(`"image":"`+reference+`"`), name)
		const mirror = "mirror.example.com/image:v0"
		replaced := documents(t, build(t, all, func(f *plugin.Facts) { f.Images = map[string]string{name: mirror} }).Objects.Shoot)
		g.Expect(replaced).To(ContainSubstring(`"image":"`+mirror+`"`), name)
		g.Expect(replaced).NotTo(ContainSubstring(`"image":"`+reference+`"`), name)
	}
}
