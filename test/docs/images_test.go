// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/util/validation/field"

	configv1alpha1 "github.com/trellis-network/trellis/api/config/v1alpha1"
	"github.com/trellis-network/trellis/internal/imagevector"
	"github.com/trellis-network/trellis/pipeline"
	"github.com/trellis-network/trellis/plugins"
)

// An operator starts with the configuration and the file of the page.
func TestTheImagesOfTheGuideAreReplaced(t *testing.T) {
	g := NewWithT(t)
	shown := blocks(t, "docs/images.md", "yaml")
	g.Expect(shown).To(HaveLen(2))
	settings, err := configv1alpha1.Load([]byte(shown[0]))
	g.Expect(err).NotTo(HaveOccurred())
	file := filepath.Join(t.TempDir(), "images.yaml")
	g.Expect(os.WriteFile(file, []byte(shown[1]), 0o600)).To(Succeed())
	t.Setenv(imagevector.Variable, file)
	all, err := pipeline.New(plugins.All(), nil)
	g.Expect(err).NotTo(HaveOccurred())
	images, err := imagevector.Resolve(all.ImageTags(), field.NewPath("images"), settings.Images)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(images).To(And(HaveLen(3), HaveKeyWithValue("calico-cni", "mirror.example.org/calico/cni:"+all.ImageTags()["calico-cni"])))
}
