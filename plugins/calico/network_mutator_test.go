// SPDX-License-Identifier: Apache-2.0

package calico_test

import (
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/plugins/calico"
)

// What Gardener's extension for Azure does with a Network, byte for byte.
func TestNetworksAreMutatedAsGardenersAzureExtensionDoes(t *testing.T) {
	one := calico.New()
	withoutIPIP := &plugin.Infrastructure{NoIPIP: true}
	for name, test := range map[string]struct {
		config *runtime.RawExtension
		want   string
	}{
		"no config":                {nil, `{"backend":"none","kind":""}`},
		"an empty one":             {&runtime.RawExtension{}, `{"backend":"none"}`},
		"null":                     {&runtime.RawExtension{Raw: []byte(`null`)}, `{"backend":"none"}`},
		"another backend":          {&runtime.RawExtension{Raw: []byte(`{"backend":"bird"}`)}, `{"backend":"none"}`},
		"an overlay":               {&runtime.RawExtension{Raw: []byte(`{"overlay":{"enabled":true}}`)}, `{"backend":"none","overlay":{"enabled":true}}`},
		"fields that it knows not": {&runtime.RawExtension{Raw: []byte(`{"x":[1,{"y":1.50}],"apiVersion":"a/v1"}`)}, `{"apiVersion":"a/v1","backend":"none","x":[1,{"y":1.50}]}`},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			mutated, err := one.MutateNetwork(withoutIPIP, test.config)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(string(mutated.Raw)).To(Equal(test.want))
			again, err := one.MutateNetwork(withoutIPIP, mutated)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(again).To(BeIdenticalTo(mutated), "the second time nothing changes")
			same, err := one.MutateNetwork(&plugin.Infrastructure{}, test.config)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(same).To(BeIdenticalTo(test.config), "elsewhere nothing changes")
		})
	}
	_, err := one.MutateNetwork(withoutIPIP, &runtime.RawExtension{Raw: []byte(`[7]`)})
	NewWithT(t).Expect(err).To(MatchError(ContainSubstring("must be an object")))
}
