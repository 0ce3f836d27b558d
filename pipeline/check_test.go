// SPDX-License-Identifier: Apache-2.0

package pipeline_test

import (
	"testing"

	. "github.com/onsi/gomega"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/test/contract"
)

type spec = extensionsv1alpha1.NetworkSpec

// The rules are Gardener's, in its terms.
func TestNetworksAreChecked(t *testing.T) {
	contract.Shows(t, "C12")
	for name, test := range map[string]struct {
		change func(*spec)
		wants  string // "" means that it is fine
	}{
		"a plain one":                   {func(*spec) {}, ""},
		"IPv4 said":                     {func(s *spec) { s.IPFamilies = []extensionsv1alpha1.IPFamily{"IPv4"} }, ""},
		"the older spelling":            {func(s *spec) { s.PodCIDR, s.ClusterCIDR = "", s.PodCIDR }, ""},
		"both spellings, the same":      {func(s *spec) { s.ClusterCIDR = s.PodCIDR }, ""},
		"both spellings, not the same":  {func(s *spec) { s.ClusterCIDR = "10.9.0.0/16" }, "spec.clusterCIDR: Invalid value: \"10.9.0.0/16\""},
		"no type":                       {func(s *spec) { s.Type = "" }, "spec.type: Required value: name the network plugin; there are noop"},
		"unknown type":                  {func(s *spec) { s.Type = "unknown" }, "spec.type: Unsupported value: \"unknown\": supported values: \"noop\""},
		"no pod range":                  {func(s *spec) { s.PodCIDR = "" }, "spec.podCIDR: Required value"},
		"pod range not a range":         {func(s *spec) { s.PodCIDR = "10.1.0.0" }, "spec.podCIDR: Invalid value: \"10.1.0.0\""},
		"not the first address":         {func(s *spec) { s.PodCIDR = "10.1.0.1/16" }, "spec.podCIDR: Invalid value: \"10.1.0.1/16\": must begin with the first address of the range; write 10.1.0.0/16"},
		"older spelling not a range":    {func(s *spec) { s.PodCIDR, s.ClusterCIDR = "", "x" }, "spec.clusterCIDR: Invalid value: \"x\""},
		"no service range":              {func(s *spec) { s.ServiceCIDR = "" }, "spec.serviceCIDR: Required value"},
		"overlapping ranges":            {func(s *spec) { s.ServiceCIDR = "10.1.128.0/24" }, "spec.serviceCIDR: Invalid value: \"10.1.128.0/24\": overlaps with the pods' range 10.1.0.0/16; give a new cluster ranges that are apart"},
		"too few Services":              {func(s *spec) { s.ServiceCIDR = "10.2.0.0/30" }, "spec.serviceCIDR: Invalid value: \"10.2.0.0/30\": has fewer than the 8 addresses without which kube-apiserver does not start; give a new cluster a larger range such as a /20"},
		"enough Services":               {func(s *spec) { s.ServiceCIDR = "10.2.0.0/29" }, ""},
		"IPv6 range in an IPv4 network": {func(s *spec) { s.PodCIDR = "fd00::/64" }, "spec.podCIDR: Invalid value: \"fd00::/64\": must be an IPv4 range"},
		"unknown family":                {func(s *spec) { s.IPFamilies = []extensionsv1alpha1.IPFamily{"IPv5"} }, "spec.ipFamilies[0]: Unsupported value: \"IPv5\""},
		"a family twice":                {func(s *spec) { s.IPFamilies = []extensionsv1alpha1.IPFamily{"IPv4", "IPv4"} }, "spec.ipFamilies[1]: Duplicate value: \"IPv4\""},
		"a family the plugin lacks": {func(s *spec) {
			s.IPFamilies = []extensionsv1alpha1.IPFamily{"IPv6"}
			s.PodCIDR, s.ServiceCIDR = "fd00::/64", "fd01::/112"
		}, "the noop plugin serves [IPv4], both families together"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			result := build(t, "", test.change)
			if test.wants == "" {
				g.Expect(result.Errors).To(BeEmpty())
				return
			}
			g.Expect(lines(result.Errors)).To(ContainSubstring(test.wants))
			g.Expect(result.Objects.For(plugin.Shoot)).To(BeEmpty(), "nothing is rendered from a wrong Network")
		})
	}
}

func TestNodeRangeMustNotOverlap(t *testing.T) {
	contract.Shows(t, "C12")
	for nodes, wants := range map[string]string{
		"10.3.0.0/16":   "",
		"10.2.0.0/20":   "overlaps with the Services' range",
		"not a network": "shoot.spec.networking.nodes: Invalid value: \"not a network\"",
	} {
		t.Run(nodes, func(t *testing.T) {
			g := NewWithT(t)
			p := newPipeline(t, noopPlugin{})
			request := p.NewRequest(network(""), nil, noEnvironment)
			request.Facts.NodeCIDR = nodes
			g.Expect(lines(p.Build(request).Errors)).To(ContainSubstring(wants))
			g.Expect(p.Build(request).Errors == nil).To(Equal(wants == ""))
		})
	}
}

func TestWhatTheShootTellsIsChecked(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*plugin.Facts)
		wants  string
	}{
		"pods":       {func(f *plugin.Facts) { f.PodCIDRs = []string{"10.1.0.0/16", "x"} }, "status.networking.pods[1]: Invalid value: \"x\": must be an IP range"},
		"Services":   {func(f *plugin.Facts) { f.ServiceCIDRs = []string{"10.2.0.0"} }, "status.networking.services[0]: Invalid value"},
		"nodes":      {func(f *plugin.Facts) { f.NodeCIDRs = []string{""} }, "status.networking.nodes[0]: Invalid value"},
		"kube-proxy": {func(f *plugin.Facts) { f.KubeProxy.Mode = "Magic" }, "spec.kubernetes.kubeProxy.mode: Unsupported value: \"Magic\": supported values: \"IPTables\", \"IPVS\", \"NFTables\""},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			p := newPipeline(t, noopPlugin{})
			request := p.NewRequest(network(""), nil, noEnvironment)
			g.Expect(p.Build(request).Errors).To(BeEmpty())
			test.change(&request.Facts)
			g.Expect(lines(p.Build(request).Errors)).To(ContainSubstring(test.wants))
		})
	}
}

// Gardener's extensions make such networks, and some that run are so.
func TestNodesAmongPodsOfARunningClusterAreWarnedOf(t *testing.T) {
	g := NewWithT(t)
	p := newPipeline(t, noopPlugin{})
	request := p.NewRequest(network(""), nil, noEnvironment)
	request.Facts.NodeCIDR = "10.1.7.0/24"
	g.Expect(lines(p.Build(request).Errors)).To(HavePrefix(`shoot.spec.networking.nodes: Invalid value: "10.1.7.0/24": overlaps with the pods' range 10.1.0.0/16: `), "a new cluster")

	request.Facts.Planned = false
	result := p.Build(request)
	g.Expect(result.Errors).To(BeEmpty())
	g.Expect(result.Objects.For(plugin.Shoot)).NotTo(BeEmpty())
	g.Expect(result.Warnings).To(HaveLen(1))
	g.Expect(result.Warnings[0].String()).To(HavePrefix("shoot.spec.networking.nodes: 10.1.7.0/24 overlaps with the pods' range 10.1.0.0/16: "))
}

func TestANodeRangeThatIsNoneIsToldWithAllElse(t *testing.T) {
	g := NewWithT(t)
	p := newPipeline(t, noopPlugin{})
	request := p.NewRequest(network(""), nil, noEnvironment)
	request.Spec.PodCIDR, request.Facts.NodeCIDR = "10.1.0.0", "10.3.0.0"
	g.Expect(lines(p.Build(request).Errors)).To(And(ContainSubstring("spec.podCIDR"), ContainSubstring("shoot.spec.networking.nodes")))
}

// Which ranges there are besides those of the spec only the Shoot's status tells.
func TestRangesOfAllFamiliesMustNotOverlap(t *testing.T) {
	type ranges struct{ pods, services, nodes []string }
	for name, test := range map[string]struct {
		families, pods, services, nodes string // in the spec
		status                          ranges
		wrong, warns                    string
	}{
		"as everywhere": {"IPv4 IPv6", "10.1.0.0/16", "10.2.0.0/16", "10.3.0.0/16",
			ranges{[]string{"10.1.0.0/16", "2001:db8:1::/56"}, []string{"10.2.0.0/16", "2001:db8:2::/108"}, []string{"10.3.0.0/16", "2001:db8:3::/56"}}, "", ""},
		"nodes and pods in one network": {"IPv4 IPv6", "10.1.0.0/16", "10.2.0.0/16", "10.3.0.0/16",
			ranges{[]string{"2001:db8:1::/56"}, nil, []string{"2001:db8:1::/56"}}, "", ""},
		"the infrastructure sets apart a part of it for Services": {"IPv4 IPv6", "10.1.0.0/16", "10.2.0.0/16", "10.3.0.0/16",
			ranges{[]string{"2001:db8:1::/56"}, []string{"2001:db8:1:7::/108"}, []string{"2001:db8:1::/56"}}, "",
			"status.networking.services[0]: 2001:db8:1:7::/108 overlaps with the pods' range 2001:db8:1::/56: the infrastructure, which made both, must keep their addresses apart"},
		"so in a network of IPv6": {"IPv6", "2001:db8:1::/56", "2001:db8:1:7::/108", "2001:db8:1::/56",
			ranges{[]string{"2001:db8:1::/56"}, []string{"2001:db8:1:7::/108"}, []string{"2001:db8:1::/56"}}, "",
			"spec.serviceCIDR: 2001:db8:1:7::/108 overlaps with the pods' range 2001:db8:1::/56: the infrastructure"},
		"users' ranges of IPv6": {"IPv6", "2001:db8:1::/56", "2001:db8:1:7::/108", "", ranges{},
			"spec.serviceCIDR: Invalid value: \"2001:db8:1:7::/108\": overlaps with the pods' range 2001:db8:1::/56", ""},
		"users' nodes among Services of IPv6": {"IPv6", "2001:db8:1::/56", "2001:db8:2::/108", "2001:db8:2::/64", ranges{},
			"shoot.spec.networking.nodes: Invalid value: \"2001:db8:2::/64\": overlaps with the Services' range 2001:db8:2::/108", ""},
		"nodes among pods of IPv6": {"IPv6", "2001:db8:1::/48", "2001:db8:2::/108", "2001:db8:1::/64", ranges{}, "",
			"shoot.spec.networking.nodes: 2001:db8:1::/64 overlaps with the pods' range 2001:db8:1::/48: a pod's address may be a node's"},
		"further pods among Services": {"IPv4", "10.1.0.0/16", "10.2.0.0/16", "10.3.0.0/16", ranges{pods: []string{"10.1.0.0/16", "10.2.8.0/24"}},
			"spec.serviceCIDR: Invalid value: \"10.2.0.0/16\": overlaps with the pods' range 10.2.8.0/24", ""},
		"further Services among pods": {"IPv4", "10.1.0.0/16", "10.2.0.0/16", "10.3.0.0/16", ranges{services: []string{"10.2.0.0/16", "10.1.8.0/24"}},
			"status.networking.services[1]: Invalid value: \"10.1.8.0/24\": overlaps with the pods' range 10.1.0.0/16", ""},
		"further nodes among pods": {"IPv4", "10.1.0.0/16", "10.2.0.0/16", "10.3.0.0/16", ranges{nodes: []string{"10.3.0.0/17", "10.1.8.0/24"}}, "",
			"status.networking.nodes[1]: 10.1.8.0/24 overlaps with the pods' range 10.1.0.0/16: a pod's address may be a node's"},
		"further nodes among Services": {"IPv4", "10.1.0.0/16", "10.2.0.0/16", "10.3.0.0/16", ranges{nodes: []string{"10.2.8.0/24"}},
			"status.networking.nodes[0]: Invalid value: \"10.2.8.0/24\": overlaps with the Services' range 10.2.0.0/16", ""},
		"a family that is gone": {"IPv4", "10.1.0.0/16", "10.2.0.0/16", "10.3.0.0/16",
			ranges{pods: []string{"2001:db8:1::/56"}, services: []string{"2001:db8:1:7::/108"}}, "", ""},
		"all addresses of a family": {"IPv4 IPv6", "10.1.0.0/16", "10.2.0.0/16", "10.3.0.0/16",
			ranges{pods: []string{"::/0"}, services: []string{"::ffff:10.1.0.0/108"}}, "", "status.networking.services[0]: ::"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			p := newPipeline(t, noopPlugin{ipv6: true})
			request := p.NewRequest(network("", func(s *spec) {
				s.IPFamilies, s.PodCIDR, s.ServiceCIDR = familiesIn(test.families), test.pods, test.services
			}), nil, noEnvironment)
			facts := &request.Facts
			facts.NodeCIDR, facts.PodCIDRs, facts.ServiceCIDRs, facts.NodeCIDRs = test.nodes, test.status.pods, test.status.services, test.status.nodes
			result := p.Build(request)
			g.Expect(lines(result.Errors)).To(HavePrefix(test.wrong))
			g.Expect(result.Errors == nil).To(Equal(test.wrong == ""))
			if test.warns == "" {
				g.Expect(result.Warnings).To(BeEmpty())
				return
			}
			g.Expect(result.Warnings).To(HaveLen(1))
			g.Expect(result.Warnings[0].String()).To(HavePrefix(test.warns))
		})
	}
}

// IPv6 ranges usually come from the infrastructure, which begins once there is a Shoot.
func TestIPv6RangesOfANewShootMayBeUnknown(t *testing.T) {
	g := NewWithT(t)
	p := newPipeline(t, noopPlugin{ipv6: true})
	ofIPv6 := func(s *corev1beta1.Shoot) {
		s.Spec.Networking = &corev1beta1.Networking{Type: new("noop"), IPFamilies: []string{"IPv6"}}
	}
	review := p.ReviewShoot(nil, shoot(ofIPv6), noEnvironment)
	g.Expect(review.Errors).To(BeEmpty())
	g.Expect(review.Warnings).To(ConsistOf(
		HaveField("String()", "spec.networking.pods: the range is unknown until the infrastructure reports it in the Shoot's status; where none does, write one such as 2001:db8:1::/48"),
		HaveField("String()", "spec.networking.services: the range is unknown until the infrastructure reports it in the Shoot's status; where none does, write one such as 2001:db8:2::/108")))

	n := network("", func(s *spec) { s.IPFamilies, s.PodCIDR, s.ServiceCIDR = familiesIn("IPv6"), "", "" })
	g.Expect(p.Build(p.NewRequest(n, nil, noEnvironment)).Errors).To(HaveLen(2), "a Network has its ranges")
}
