// SPDX-License-Identifier: Apache-2.0

package pipeline_test

import (
	"math"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/util/intstr"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/plugin"
)

// Each node gets a range of the pods' range, and one that gets none never becomes ready.
func TestThePodsRangeHasRoomForAllNodes(t *testing.T) {
	const asked = "state a larger range such as a /15 or, where it cannot change, let the workers grow to "
	for name, test := range map[string]struct {
		pods         string
		mask, most   int32
		refused      string
		warnedOfOnly string
	}{
		"enough":                  {"10.1.0.0/16", 24, 256, "", ""},
		"one too many":            {"10.1.0.0/16", 24, 257, `spec.podCIDR: Invalid value: "10.1.0.0/16": has room for 256 nodes, of which each gets a /24, and the workers can grow to 257; ` + asked + "256 at most", ""},
		"with smaller ranges":     {"10.1.0.0/16", 25, 512, "", ""},
		"with the usual ranges":   {"10.1.0.0/24", 0, 2, `has room for 1 node, of which each gets a /24, and the workers can grow to 2`, ""},
		"none":                    {"10.1.0.0/25", 24, 1, `has no room for a node, since each gets a /24; state a larger range such as a /24, or a greater number as nodeCIDRMaskSize`, ""},
		"none whatever nodes get": {"10.1.0.0/31", 24, 1, "has no address for a pod; state a larger range such as a /24", ""},
		"no address for a pod":    {"10.1.0.0/16", 31, 3, "nodeCIDRMaskSize: Invalid value: 31: must be from 1 to 30", ""},
		"an unknown number":       {"10.1.0.0/24", 0, 0, "", "spec.podCIDR: 10.1.0.0/24 has room for 1 node, of which each gets a /24 unless the Shoot's nodeCIDRMaskSize says otherwise; state a larger range for more"},
		"a mask that cannot be":   {"10.1.0.0/16", 64, 3, "spec.kubernetes.kubeControllerManager.nodeCIDRMaskSize: Invalid value: 64: must be from 1 to 30", ""},
		"a quarter of the world":  {"0.0.0.0/2", 30, 1 << 28, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			p := newPipeline(t, noopPlugin{})
			request := p.NewRequest(network("", func(s *extensionsv1alpha1.NetworkSpec) { s.PodCIDR, s.ServiceCIDR = test.pods, "192.0.2.0/24" }), nil, noEnvironment)
			request.Facts.NodeCIDRMaskSize, request.Facts.NodesAtMost = test.mask, test.most
			result := p.Build(request)
			g.Expect(lines(result.Errors)).To(ContainSubstring(test.refused))
			g.Expect(result.Errors).To(HaveLen(min(len(test.refused), 1)))
			if test.warnedOfOnly != "" {
				g.Expect(result.Warnings).To(ConsistOf(HaveField("String()", test.warnedOfOnly)))
				return
			}
			g.Expect(result.Warnings).To(BeEmpty())

			request.Facts.Planned = false
			inCluster := p.Build(request)
			g.Expect(inCluster.Errors).To(BeEmpty(), "a cluster that exists has nodes")
			g.Expect(inCluster.Warnings).To(HaveLen(min(len(test.refused), 1)))
			g.Expect(inCluster.Objects.For(plugin.Shoot)).NotTo(BeEmpty())
		})
	}
}

// A surge of new nodes replaces the workers' nodes, and those without a range hold that up.
func TestThePodsRangeHasRoomForTheSurgeOfARollOut(t *testing.T) {
	percent := func(text string) *intstr.IntOrString { return new(intstr.FromString(text)) }
	number := func(n int32) *intstr.IntOrString { return new(intstr.FromInt32(n)) }
	const least, most = math.MinInt32, math.MaxInt32
	group := func(maximum int32, surge *intstr.IntOrString) corev1beta1.Worker {
		return corev1beta1.Worker{Minimum: min(1, maximum), Maximum: maximum, MaxSurge: surge}
	}
	type groups = []corev1beta1.Worker
	for name, test := range map[string]struct {
		groups             groups
		atMost, inSurge    int32
		warned, refusedFor string
	}{
		"none":                       {groups{group(4, nil)}, 4, 0, "", ""},
		"within the range":           {groups{group(3, number(1))}, 3, 1, "", ""},
		"beyond the range":           {groups{group(2, number(5)), group(1, nil)}, 3, 2, "10.1.0.0/22 has room for 4 nodes, of which each gets a /24, and there may be 5 while the workers are replaced", ""},
		"a percentage, rounded up":   {groups{group(3, percent("34%"))}, 3, 2, "there may be 5 while the workers are replaced", ""},
		"of each group":              {groups{group(2, percent("1%")), group(2, percent("1%"))}, 4, 2, "there may be 6 while", ""},
		"of a group without nodes":   {groups{group(4, nil), group(0, number(3))}, 4, 0, "", ""},
		"what is none":               {groups{group(4, percent("many"))}, 4, 0, "", ""},
		"less than none":             {groups{group(least, number(least)), group(1, nil)}, 1, 0, "", ""},
		"more than can be counted":   {groups{group(most, percent("900%")), group(most, number(most))}, most, most, "", "the workers can grow to 2147483647"},
		"more percent than a number": {groups{group(most, percent("99999999999999999999%"))}, most, 0, "", "the workers can grow to 2147483647"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			p := newPipeline(t, noopPlugin{})
			s := &corev1beta1.Shoot{Spec: corev1beta1.ShootSpec{Provider: corev1beta1.Provider{Workers: test.groups}}}
			request := p.NewRequest(network("", func(s *spec) { s.PodCIDR, s.ServiceCIDR = "10.1.0.0/22", "192.0.2.0/24" }), s, noEnvironment)
			g.Expect([]int32{request.Facts.NodesAtMost, request.Facts.NodesInSurge}).To(Equal([]int32{test.atMost, test.inSurge}))
			result := p.Build(request)
			g.Expect(lines(result.Errors)).To(ContainSubstring(test.refusedFor))
			g.Expect(result.Errors).To(HaveLen(min(len(test.refusedFor), 1)))
			g.Expect(result.Warnings).To(HaveLen(min(len(test.warned), 1)))
			if test.warned != "" {
				g.Expect(result.Warnings[0].String()).To(And(ContainSubstring(test.warned), ContainSubstring("; lower the workers' maxSurge or maximum or, in a new cluster, state a larger range such as a /21")))
			}
		})
	}
}

// Users' IPv6 ranges of pods are divided among the nodes as well.
func TestAnIPv6RangeMayBeTooSmallForTheNodes(t *testing.T) {
	const rest = ", of which each gets a /64 unless the Shoot's nodeCIDRMaskSizeIPv6 says otherwise; give a new cluster a larger range for more"
	for name, test := range map[string]struct {
		pods   string
		most   int32
		made   bool
		warned string
	}{
		"enough":                      {"2001:db8:1::/56", 256, false, ""},
		"one too many":                {"2001:db8:1::/56", 257, false, "spec.podCIDR: 2001:db8:1::/56 has room for 256 nodes" + rest},
		"a range for one node":        {"2001:db8:1::/64", 0, false, "spec.podCIDR: 2001:db8:1::/64 has room for 1 node" + rest},
		"a range for the only node":   {"2001:db8:1::/64", 1, false, ""},
		"for none":                    {"2001:db8:1::/80", 1, false, "spec.podCIDR: 2001:db8:1::/80 has room for 0 nodes" + rest},
		"one of the infrastructure's": {"2001:db8:1::/64", 9, true, ""},
		"one of all addresses":        {"2001::/16", 1 << 30, false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			p := newPipeline(t, noopPlugin{ipv6: true})
			request := p.NewRequest(network("", func(s *extensionsv1alpha1.NetworkSpec) {
				s.IPFamilies, s.PodCIDR, s.ServiceCIDR = familiesIn("IPv6"), test.pods, "fd00::/108"
			}), nil, noEnvironment)
			request.Facts.NodesAtMost = test.most
			if test.made {
				request.Facts.PodCIDRs = []string{test.pods}
			}
			result := p.Build(request)
			g.Expect(result.Errors).To(BeEmpty())
			if test.warned == "" {
				g.Expect(result.Warnings).To(BeEmpty())
				return
			}
			g.Expect(result.Warnings).To(ConsistOf(HaveField("String()", test.warned)))
		})
	}
}
