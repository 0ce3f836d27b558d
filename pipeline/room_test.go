// SPDX-License-Identifier: Apache-2.0

package pipeline_test

import (
	"math"
	"testing"

	. "github.com/onsi/gomega"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/plugin"
)

// The numbers of nodes of several groups can be more than their type has room for.
func TestMoreNodesThanCanBeCountedAreTooMany(t *testing.T) {
	g := NewWithT(t)
	p := newPipeline(t, noopPlugin{})
	shoot := &corev1beta1.Shoot{}
	group := corev1beta1.Worker{Minimum: math.MaxInt32, Maximum: math.MaxInt32}
	shoot.Spec.Provider.Workers = []corev1beta1.Worker{group, group}
	request := p.NewRequest(network(""), shoot, noEnvironment)
	g.Expect(request.Facts.NodesAtLeast).To(Equal(int32(math.MaxInt32)))
	g.Expect(lines(p.Build(request).Errors)).To(ContainSubstring("the workers can grow to 2147483647"))
}

// Each node gets a range of the pods' range, and one that gets none never becomes ready.
func TestThePodsRangeHasRoomForAllNodes(t *testing.T) {
	const asked = "state a larger range or, where it cannot change, let the workers grow to "
	for name, test := range map[string]struct {
		pods         string
		mask, most   int32
		refused      string
		warnedOfOnly string
	}{
		"enough":                 {"10.1.0.0/16", 24, 256, "", ""},
		"one too many":           {"10.1.0.0/16", 24, 257, `spec.podCIDR: Invalid value: "10.1.0.0/16": has room for 256 nodes, of which each gets a /24, and the workers can grow to 257; ` + asked + "256 at most", ""},
		"with smaller ranges":    {"10.1.0.0/16", 25, 512, "", ""},
		"with the usual ranges":  {"10.1.0.0/24", 0, 2, `has room for 1 node, of which each gets a /24, and the workers can grow to 2`, ""},
		"none":                   {"10.1.0.0/25", 24, 1, `has no room for a node, since each gets a /24; state a larger range, or a larger nodeCIDRMaskSize`, ""},
		"an unknown number":      {"10.1.0.0/24", 0, 0, "", "spec.podCIDR: 10.1.0.0/24 has room for 1 node, of which each gets a /24 unless the Shoot's nodeCIDRMaskSize says otherwise; state a larger range for more"},
		"a mask that cannot be":  {"10.1.0.0/16", 64, 3, "spec.kubernetes.kubeControllerManager.nodeCIDRMaskSize: Invalid value: 64: must be from 1 to 32", ""},
		"a quarter of the world": {"0.0.0.0/2", 32, 1 << 30, "", ""},
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
