// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"testing"

	. "github.com/onsi/gomega"

	"github.com/trellis-network/trellis/plugin"
)

// A replacement without a tag takes that of the image, if there is only one.
func TestAnImageHasNoOneTagIfPluginsDiffer(t *testing.T) {
	p := &Pipeline{plugins: map[string]plugin.Plugin{}}
	for networkType, images := range map[string]string{
		"first":  "[{name: shared, repository: r, tag: v1}, {name: same, repository: r, tag: v3}]",
		"second": "[{name: shared, repository: r, tag: v2}, {name: same, repository: r, tag: v3}]",
		"third":  "[{name: shared, repository: r, tag: v1}]",
	} {
		p.plugins[networkType] = plugin.Plugin{Description: plugin.Description{Type: networkType, Images: plugin.ParseImages([]byte(images))}}
	}
	NewWithT(t).Expect(p.ImageTags()).To(And(HaveLen(3),
		HaveKeyWithValue("shared", ""), HaveKeyWithValue("same", "v3"), HaveKeyWithValue("trellis-probe", Not(BeEmpty()))))
}
