// SPDX-License-Identifier: Apache-2.0

package plugins_test

import (
	"os"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/trellis-network/trellis/pipeline"
	"github.com/trellis-network/trellis/plugins"
	"github.com/trellis-network/trellis/providers"
)

func TestThePipelineTakesAllPlugins(t *testing.T) {
	g := NewWithT(t)
	p, err := pipeline.New(plugins.All(), providers.All())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(p.Types()).To(HaveLen(len(plugins.All())))
}

func TestEveryFolderIsListed(t *testing.T) {
	g := NewWithT(t)
	var listed, folders []string
	for _, one := range plugins.All() {
		listed = append(listed, one.Type)
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

func TestNoTwoPluginsShareAManagedResource(t *testing.T) {
	g := NewWithT(t)
	seen := map[string]string{}
	for _, one := range plugins.All() {
		g.Expect(one.ManagedResource).NotTo(BeEmpty(), one.Type)
		g.Expect(seen).NotTo(HaveKey(one.ManagedResource), one.Type)
		seen[one.ManagedResource] = one.Type
	}
}
