// SPDX-License-Identifier: Apache-2.0

package cilium_test

import (
	"regexp"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/test/built"
)

// images returns the image of every container.
func (n *network) images() map[string]string {
	all := map[string]string{}
	for name, template := range n.templates() {
		for _, container := range append(template.Spec.InitContainers, template.Spec.Containers...) {
			all[name+"/"+container.Name] = container.Image
		}
	}
	return all
}

func TestEveryImageHasATag(t *testing.T) {
	tagged := regexp.MustCompile(`^[a-z0-9.-]+(/[a-z0-9.-]+)+:v[0-9][A-Za-z0-9_.-]*$`)
	for container, image := range build(t, everywhere, everyFact...).images() {
		NewWithT(t).Expect(tagged.MatchString(image)).To(BeTrue(), "%s runs %s", container, image)
	}
}

func TestEveryImageRunsSomewhereAndCanBeReplaced(t *testing.T) {
	own := build(t, everywhere, everyFact...).images()
	for name, reference := range built.Images(t) {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			const mirror = "mirror.example.com/image:v0"
			replaced := build(t, everywhere, append(everyFact, func(f *plugin.Input) { f.Images = map[string]string{name: mirror} })...).images()
			count := 0
			for container, image := range own {
				if image != reference {
					g.Expect(replaced[container]).To(Equal(image), container)
					continue
				}
				g.Expect(replaced[container]).To(Equal(mirror), container)
				count++
			}
			g.Expect(count).To(BeNumerically(">", 0))
		})
	}
}

func TestWhatIsOfOneReleaseHasOneTag(t *testing.T) {
	images := built.Images(t)
	for _, name := range []string{"cilium-agent", "cilium-operator", "hubble-relay"} {
		NewWithT(t).Expect(images[name]).To(HaveSuffix(":v1.19.7"))
	}
	NewWithT(t).Expect(strings.Split(images["hubble-ui"], ":")[1]).To(Equal(strings.Split(images["hubble-ui-backend"], ":")[1]))
}
