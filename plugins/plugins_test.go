// SPDX-License-Identifier: Apache-2.0

package plugins_test

import (
	"os"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"

	"github.com/trellis-network/trellis/pipeline"
	"github.com/trellis-network/trellis/plugin"
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
		if entry.IsDir() && entry.Name() != "internal" {
			folders = append(folders, entry.Name())
		}
	}
	g.Expect(listed).To(ConsistOf(folders))
}

func TestNoTwoPluginsShareAManagedResource(t *testing.T) {
	g := NewWithT(t)
	p, err := pipeline.New(plugins.All(), providers.All())
	g.Expect(err).NotTo(HaveOccurred())
	typeOf := map[string]string{}
	for _, request := range requestsOfAllTypes(p) {
		networkType := request.Spec.Type
		definition, _ := p.Plugin(networkType)
		bundles := p.Build(request).Objects.Bundles
		g.Expect(bundles).NotTo(BeEmpty(), networkType)
		for _, one := range append(bundles, definition.Adopts...) {
			g.Expect(typeOf).To(Or(HaveKeyWithValue(one.Name, networkType), Not(HaveKey(one.Name))))
			typeOf[one.Name] = networkType
		}
	}
}

// However many nodes a cluster has, its agents are replaced on a tenth of them at a
// time.
func TestAgentsAreReplacedOnATenthOfTheNodes(t *testing.T) {
	g := NewWithT(t)
	p, err := pipeline.New(plugins.All(), providers.All())
	g.Expect(err).NotTo(HaveOccurred())
	for _, request := range requestsOfAllTypes(p) {
		networkType := request.Spec.Type
		request.Nodes = 200
		result := p.Build(request)
		g.Expect(result.Errors).To(BeEmpty(), networkType)
		found := 0
		for _, object := range result.Objects.For(plugin.Shoot) {
			if agents, ok := object.(*appsv1.DaemonSet); ok {
				g.Expect(agents.Spec.UpdateStrategy.RollingUpdate.MaxUnavailable.IntValue()).To(Equal(20), agents.Name)
				found++
			}
		}
		g.Expect(found).To(BeNumerically(">=", 1), networkType)
	}
}
