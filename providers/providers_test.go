// SPDX-License-Identifier: Apache-2.0

package providers_test

import (
	"os"
	"testing"

	. "github.com/onsi/gomega"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	"github.com/trellis-network/trellis/providers"
)

// What a plugin makes of the facts is tested beside it. Here is what must be true of all.
func TestAnInfrastructureEitherHasRoutesOrHasNone(t *testing.T) {
	for _, provider := range providers.All() {
		g := NewWithT(t)
		facts := provider.Infrastructure(&corev1beta1.Shoot{})
		g.Expect(facts.PodRoutes).NotTo(Equal(facts.NoPodRoutes), facts.Type)
		g.Expect(facts.PodRouter != "").To(Equal(facts.PodRoutes), facts.Type)
		g.Expect(facts.MaxPodRoutes == 0 || facts.PodRoutes).To(BeTrue(), facts.Type)
		g.Expect(facts.OverlayOff).To(Equal(facts.PodRoutes), "%s: networks have no overlay by default where there are routes", facts.Type)
	}
}

func TestFactsDoNotNeedAShoot(t *testing.T) {
	for _, provider := range providers.All() {
		g := NewWithT(t)
		g.Expect(provider.Infrastructure(nil).Type).To(Equal(provider.Type()))
	}
}

func TestEveryFolderIsListed(t *testing.T) {
	g := NewWithT(t)
	var listed, folders []string
	for _, provider := range providers.All() {
		listed = append(listed, provider.Type())
	}
	entries, err := os.ReadDir(".")
	g.Expect(err).NotTo(HaveOccurred())
	for _, entry := range entries {
		if entry.IsDir() && entry.Name() != "internal" && entry.Name() != "routes" { // what all share
			folders = append(folders, entry.Name())
		}
	}
	g.Expect(listed).To(ConsistOf(folders))
}
