// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

// The generated table follows the modules; this is what API servers in tests say of themselves.
func TestTheTestedVersionOfKubernetesIsThatOfTheSandbox(t *testing.T) {
	g := NewWithT(t)
	content, err := os.ReadFile(filepath.Join(root, "docs/operate.md"))
	g.Expect(err).NotTo(HaveOccurred())
	_, row, found := strings.Cut(string(content), "| Kubernetes of seeds and shoots | ")
	g.Expect(found).To(BeTrue())
	version, _, _ := strings.Cut(row, " |")
	g.Expect(landscape.Get(t).KubernetesVersion).To(Equal(version))
}
