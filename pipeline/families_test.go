// SPDX-License-Identifier: Apache-2.0

package pipeline_test

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/pipeline"
)

func familiesIn(list string) []extensionsv1alpha1.IPFamily {
	var families []extensionsv1alpha1.IPFamily
	for _, family := range strings.Fields(list) {
		families = append(families, extensionsv1alpha1.IPFamily(family))
	}
	return families
}

// shootWith is a Shoot whose nodes are ready for two families, or are not.
func shootWith(ready corev1beta1.ConditionStatus) *corev1beta1.Shoot {
	shoot := &corev1beta1.Shoot{}
	if ready != "" {
		shoot.Status.Constraints = []corev1beta1.Condition{{Type: "DualStackNodesMigrationReady", Status: ready}}
	}
	return shoot
}

// Nodes that are not ready delay a new family. Only the user removes a deployed family.
func TestWhichFamiliesAreDeployed(t *testing.T) {
	const ready, notReady = corev1beta1.ConditionTrue, corev1beta1.ConditionProgressing
	for name, test := range map[string]struct {
		applied, status, wanted string
		nodes                   corev1beta1.ConditionStatus
		want                    string
	}{
		"a new network":                              {"", "", "IPv4 IPv6", "", "IPv4 IPv6"},
		"a new network, nodes not ready":             {"", "", "IPv4 IPv6", notReady, "IPv4"},
		"the second is to come":                      {"IPv4", "IPv4", "IPv4 IPv6", notReady, "IPv4"},
		"the second comes":                           {"IPv4", "IPv4", "IPv4 IPv6", ready, "IPv4 IPv6"},
		"both are there, a node is late":             {"IPv4 IPv6", "IPv4 IPv6", "IPv4 IPv6", notReady, "IPv4 IPv6"},
		"both are there, as moved from another seed": {"IPv4 IPv6", "", "IPv4 IPv6", notReady, "IPv4 IPv6"},
		"both are there, as another extension says":  {"", "IPv4 IPv6", "IPv4 IPv6", notReady, "IPv4 IPv6"},
		"the second goes":                            {"IPv4 IPv6", "IPv4 IPv6", "IPv4", ready, "IPv4"},
		"the second goes, whatever the nodes say":    {"IPv4 IPv6", "IPv4 IPv6", "IPv4", notReady, "IPv4"},
		"none is wanted, which is IPv4, so it goes":  {"IPv4 IPv6", "IPv4 IPv6", "", "", "IPv4"},
		"the second went and is to come once more":   {"IPv4", "IPv4", "IPv4 IPv6", notReady, "IPv4"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			p := newPipeline(t, noopPlugin{})
			n := network("", func(s *extensionsv1alpha1.NetworkSpec) { s.IPFamilies = familiesIn(test.wanted) })
			n.Status.IPFamilies = familiesIn(test.status)
			request := p.NewRequest(n, shootWith(test.nodes), noEnvironment)
			if test.applied != "" {
				request.Applied = appliedWith(t, p, test.applied)
			}
			result := p.Build(request)
			g.Expect(result.Errors).To(BeEmpty())
			g.Expect(result.IPFamilies).To(Equal(familiesIn(test.want)))
		})
	}
}

// appliedWith is what is remembered of a network with these families.
func appliedWith(t *testing.T, p *pipeline.Pipeline, families string) *pipeline.Applied {
	t.Helper()
	n := network("", func(s *extensionsv1alpha1.NetworkSpec) { s.IPFamilies = familiesIn(families) })
	if strings.HasPrefix(families, "IPv6") {
		n.Spec.PodCIDR, n.Spec.ServiceCIDR = "2001:db8:1::/48", "2001:db8:2::/112"
	}
	result := p.Build(p.NewRequest(n, nil, noEnvironment))
	NewWithT(t).Expect(result.Errors).To(BeEmpty())
	return result.Applied()
}

// IPv6 may join IPv4, and go again (Gardener contract, C7).
func TestWhichFamiliesMayFollow(t *testing.T) {
	allowed := map[string]bool{"IPv4 to IPv4 IPv6": true, "IPv4 IPv6 to IPv4": true}
	all := []string{"IPv4", "IPv6", "IPv4 IPv6", "IPv6 IPv4"}
	p := newPipeline(t, noopPlugin{ipv6: true})
	for _, before := range all {
		for _, after := range all {
			step := before + " to " + after
			t.Run(step, func(t *testing.T) {
				g := NewWithT(t)
				n := network("", func(s *extensionsv1alpha1.NetworkSpec) { s.IPFamilies = familiesIn(after) })
				if strings.HasPrefix(after, "IPv6") {
					n.Spec.PodCIDR, n.Spec.ServiceCIDR = "2001:db8:1::/48", "2001:db8:2::/112"
				}
				request := p.NewRequest(n, nil, noEnvironment)
				request.Applied = appliedWith(t, p, before)
				result := p.Build(request)
				if before == after || allowed[step] {
					g.Expect(result.Errors).To(BeEmpty())
					return
				}
				g.Expect(lines(result.Errors)).To(Equal("spec.ipFamilies: Forbidden: cannot change from [" + before + "] to [" + after + "] in a running network: " +
					"IPv6 may join IPv4 as the second family and go again, and nothing else; list the families as before, or create a new cluster"))
			})
		}
	}
}
