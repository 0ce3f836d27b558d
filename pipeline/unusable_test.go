// SPDX-License-Identifier: Apache-2.0

package pipeline_test

import (
	"testing"

	. "github.com/onsi/gomega"

	"github.com/trellis-network/trellis/plugin"
)

// A network whose ranges have addresses that nothing can use is refused before it is made, and
// warned of where it exists.
func TestRangesHaveAddressesThatCanBeUsed(t *testing.T) {
	const lists = ", since spec.ipFamilies lists no other family; write one such as "
	for name, test := range map[string]struct {
		families, pods, services, nodes string
		refused                         string
	}{
		"private ranges":         {"IPv4", "10.1.0.0/16", "10.2.0.0/16", "10.3.0.0/16", ""},
		"loopback":               {"IPv4", "127.0.0.0/8", "10.2.0.0/16", "", `spec.podCIDR: Invalid value: "127.0.0.0/8": overlaps with 127.0.0.0/8, whose packets never leave a node; give a new cluster another range`},
		"a part of loopback":     {"IPv4", "10.1.0.0/16", "127.1.0.0/16", "", `spec.serviceCIDR: Invalid value: "127.1.0.0/16": overlaps with 127.0.0.0/8`},
		"more than link-local":   {"IPv4", "10.1.0.0/16", "10.2.0.0/16", "169.0.0.0/8", `shoot.spec.networking.nodes: Invalid value: "169.0.0.0/8": overlaps with 169.254.0.0/16, whose packets no router forwards`},
		"multicast":              {"IPv4", "239.0.0.0/16", "10.2.0.0/16", "", `spec.podCIDR: Invalid value: "239.0.0.0/16": overlaps with 224.0.0.0/4, whose addresses are groups of receivers`},
		"beside link-local":      {"IPv4", "169.255.0.0/16", "10.2.0.0/16", "", ""},
		"IPv6":                   {"IPv6", "2001:db8:1::/48", "2001:db8:2::/108", "2001:db8:3::/64", ""},
		"the loopback of IPv6":   {"IPv6", "::/48", "2001:db8:2::/108", "", `spec.podCIDR: Invalid value: "::/48": overlaps with ::1/128`},
		"the link-local of IPv6": {"IPv6", "2001:db8:1::/48", "2001:db8:2::/108", "fe80::/64", `shoot.spec.networking.nodes: Invalid value: "fe80::/64": overlaps with fe80::/10`},
		"the multicast of IPv6":  {"IPv6", "2001:db8:1::/48", "ff02::/108", "", `spec.serviceCIDR: Invalid value: "ff02::/108": overlaps with ff00::/8`},
		"nodes of IPv6":          {"IPv4", "10.1.0.0/16", "10.2.0.0/16", "2001:db8:3::/64", `shoot.spec.networking.nodes: Invalid value: "2001:db8:3::/64": must be an IPv4 range` + lists + "10.250.0.0/16"},
		"nodes of IPv4":          {"IPv6", "2001:db8:1::/48", "2001:db8:2::/108", "10.3.0.0/16", `shoot.spec.networking.nodes: Invalid value: "10.3.0.0/16": must be an IPv6 range` + lists + "2001:db8:3::/64"},
		"nodes of either family": {"IPv4 IPv6", "10.1.0.0/16", "10.2.0.0/16", "2001:db8:3::/64", ""},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			p := newPipeline(t, noopPlugin{ipv6: true})
			request := p.NewRequest(network("", func(s *spec) {
				s.IPFamilies, s.PodCIDR, s.ServiceCIDR = familiesIn(test.families), test.pods, test.services
			}), nil, noEnvironment)
			request.Facts.NodeCIDR = test.nodes
			result := p.Build(request)
			g.Expect(lines(result.Errors)).To(HavePrefix(test.refused))
			g.Expect(result.Errors).To(HaveLen(min(len(test.refused), 1)))

			request.Facts.Planned = false
			existing := p.Build(request)
			g.Expect(existing.Errors).To(BeEmpty())
			g.Expect(existing.Warnings).To(HaveLen(min(len(test.refused), 1)))
			g.Expect(existing.Objects.For(plugin.Shoot)).NotTo(BeEmpty())
		})
	}
}
