// SPDX-License-Identifier: Apache-2.0

package providers_test

import (
	"os"
	"testing"

	. "github.com/onsi/gomega"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/providers"
)

func TestWhatInfrastructuresAllow(t *testing.T) {
	want := map[string]plugin.Infrastructure{
		"azure": {Type: "azure", NoIPIP: true, PodRoutes: true, VirtualFunctions: true},
		"local": {Type: "local"},
	}
	g := NewWithT(t)
	got := map[string]plugin.Infrastructure{}
	for _, provider := range providers.All() {
		got[provider.Type()] = provider.Infrastructure(&corev1beta1.Shoot{})
	}
	g.Expect(got).To(Equal(want))
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
		if entry.IsDir() {
			folders = append(folders, entry.Name())
		}
	}
	g.Expect(listed).To(ConsistOf(folders))
}
