// SPDX-License-Identifier: Apache-2.0

package plugin_test

import (
	"testing"

	. "github.com/onsi/gomega"

	"github.com/trellis-network/trellis/plugin"
)

const images = `
- {name: can, repository: registry.example.org/can, tag: v1}
`

func TestImagesAreFoundByNameAndCanBeReplaced(t *testing.T) {
	g := NewWithT(t)
	parsed := plugin.ParseImages([]byte(images))
	g.Expect(parsed.For("can", &plugin.Input{})).To(Equal("registry.example.org/can:v1"))
	g.Expect(parsed.For("can", &plugin.Input{Environment: plugin.Environment{Images: map[string]string{"can": "mirror.example.org/can@sha256:0"}}})).To(Equal("mirror.example.org/can@sha256:0"))
	g.Expect(func() { parsed.For("string", &plugin.Input{}) }).To(PanicWith(ContainSubstring(`no image named "string"`)))
}

// An image without a tag would be another one tomorrow.
func TestMalformedImagesStopTheProgramAtStart(t *testing.T) {
	for _, document := range []string{
		"- {name: can, repository: registry.example.org/can}",
		"- {name: can, tag: v1}",
		"- {name: can, repository: r, tag: v1, digest: d}",
		"can: v1",
	} {
		NewWithT(t).Expect(func() { plugin.ParseImages([]byte(document)) }).To(Panic(), document)
	}
}
