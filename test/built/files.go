// SPDX-License-Identifier: Apache-2.0

package built

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/onsi/gomega"
	"sigs.k8s.io/yaml"

	"github.com/trellis-network/trellis/plugin"
)

// File reads a file of the plugin's folder.
func File(t *testing.T, name string) string {
	t.Helper()
	raw, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// Images are the references in the plugin's images.yaml, by name.
func Images(t *testing.T) map[string]string {
	t.Helper()
	var list []struct{ Name, Repository, Tag string }
	if err := yaml.UnmarshalStrict([]byte(File(t, "images.yaml")), &list); err != nil {
		t.Fatal(err)
	}
	references := map[string]string{}
	for _, image := range list {
		references[image.Name] = image.Repository + ":" + image.Tag
	}
	return references
}

// ExpectImagesInREADME fails unless the plugin's README.md has exactly the images of its
// images.yaml.
func ExpectImagesInREADME(t *testing.T) {
	t.Helper()
	g := gomega.NewWithT(t)
	_, table, found := strings.Cut(File(t, "README.md"), "\n## Images\n")
	g.Expect(found).To(gomega.BeTrue())
	table, _, _ = strings.Cut(table, "\n## ")
	documented := map[string]string{}
	for _, row := range regexp.MustCompile("(?m)^\\| `([^`]+)` \\| `([^`]+)` \\|").FindAllStringSubmatch(table, -1) {
		documented[row[1]] = row[2]
	}
	g.Expect(documented).To(gomega.Equal(Images(t)))
}

// ExpectImages fails unless each image of the plugin's images.yaml runs somewhere in the
// network of this config, and another in its place if it is replaced.
func (by By[N]) ExpectImages(t *testing.T, config string) {
	t.Helper()
	g := gomega.NewWithT(t)
	own := Documents(t, by.Objects(t, config).For(plugin.Shoot))
	for name, reference := range Images(t) {
		g.Expect(own).To(gomega.ContainSubstring(`"image":"`+reference+`"`), name)
		const mirror = "mirror.example.com/image:v0"
		replaced := Documents(t, by.Objects(t, config, func(f *plugin.Input) { f.Images = map[string]string{name: mirror} }).For(plugin.Shoot))
		g.Expect(replaced).To(gomega.ContainSubstring(`"image":"`+mirror+`"`), name)
		g.Expect(replaced).NotTo(gomega.ContainSubstring(`"image":"`+reference+`"`), name)
	}
}
