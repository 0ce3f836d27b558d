// SPDX-License-Identifier: Apache-2.0

package built

import (
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/pipeline"
	"github.com/trellis-network/trellis/plugin"
)

// The ranges of the networks.
const (
	PodCIDR  = "100.64.0.0/12"
	PodCIDR6 = "2001:db8:1::/56"
	NodeCIDR = "10.250.0.0/16"

	serviceCIDR  = "100.96.0.0/13"
	serviceCIDR6 = "2001:db8:2::/112"
)

// Option changes what is known of the cluster; nil changes nothing.
type Option func(*plugin.Input)

// Families is a network with these families, whose ranges the Shoot reports.
func Families(list ...extensionsv1alpha1.IPFamily) Option {
	return func(facts *plugin.Input) {
		facts.IPFamilies, facts.PodCIDRs = slices.Clone(list), nil
		for _, family := range list {
			cidr := PodCIDR
			if family == extensionsv1alpha1.IPv6 {
				cidr = PodCIDR6
			}
			facts.PodCIDRs = append(facts.PodCIDRs, cidr)
		}
	}
}

// IPv6Only is a network of IPv6, whose Shoot states no range of the nodes.
func IPv6Only(facts *plugin.Input) {
	Families(extensionsv1alpha1.IPv6)(facts)
	facts.NodeCIDR = ""
}

// DualStack is a network of both families, IPv4 first.
func DualStack(facts *plugin.Input) {
	Families(extensionsv1alpha1.IPv4, extensionsv1alpha1.IPv6)(facts)
}

// Migrating is a network of IPv4 on its way to dual-stack.
func Migrating(facts *plugin.Input) {
	DualStack(facts)
	facts.WantedIPFamilies, facts.IPFamilies = facts.IPFamilies, facts.IPFamilies[:1]
}

// Request is a Request for a config written in YAML, in a cluster of IPv4 that has
// kube-proxy. The Network says what the facts do.
func (by By[N]) Request(t *testing.T, config string, options ...Option) pipeline.Request {
	t.Helper()
	request := pipeline.Request{
		Name: "network", Namespace: "shoot--test--one", Author: pipeline.AuthorNetwork,
		Spec: extensionsv1alpha1.NetworkSpec{
			Type:    by.New().Type,
			PodCIDR: PodCIDR, ServiceCIDR: serviceCIDR,
		},
		Facts: plugin.Facts{
			Namespace:  "shoot--test--one",
			NodeCIDR:   NodeCIDR,
			IPFamilies: []extensionsv1alpha1.IPFamily{extensionsv1alpha1.IPv4},
			KubeProxy:  plugin.KubeProxy{Enabled: true},
			// No pods of other clusters are near: plugins would warn of them.
			Infrastructure: plugin.Infrastructure{OwnNetwork: true},
		},
	}
	if config != "" {
		request.Spec.ProviderConfig = &runtime.RawExtension{Raw: JSON(t, config)}
	}
	facts := &plugin.Input{Facts: request.Facts}
	for _, change := range append([]Option{by.Facts}, options...) {
		if change != nil {
			change(facts)
		}
	}
	request.Facts, request.Environment = facts.Facts, facts.Environment
	request.Spec.IPFamilies = facts.IPFamilies
	if len(facts.WantedIPFamilies) > 0 {
		request.Spec.IPFamilies = facts.WantedIPFamilies
	}
	if len(facts.IPFamilies) > 0 && !facts.HasIPFamily(extensionsv1alpha1.IPv4) {
		request.Spec.PodCIDR, request.Spec.ServiceCIDR = PodCIDR6, serviceCIDR6
	}
	return request
}

// JSON is what is written in YAML.
func JSON(t testing.TB, document string) []byte {
	t.Helper()
	raw, err := yaml.YAMLToJSON([]byte(document))
	if err != nil {
		t.Fatalf("%s\nis not YAML: %v", document, err)
	}
	return raw
}
