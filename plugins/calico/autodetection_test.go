// SPDX-License-Identifier: Apache-2.0

package calico_test

import (
	"testing"

	. "github.com/onsi/gomega"

	"github.com/trellis-network/trellis/plugin"
)

func withNodes(spec string, status []string) option {
	return func(facts *plugin.Input) { facts.NodeCIDR, facts.NodeCIDRs = spec, status }
}

func TestNodesFindTheirAddressInTheirRange(t *testing.T) {
	const users = "ipv4: {autoDetectionMethod: first-found}"
	for _, test := range []struct {
		name, config string
		nodes        option
		want         string
		warns        bool
	}{
		{"nothing is known", "", withNodes("", nil), "", false},
		{"the user knows", users, withNodes("", nil), "first-found", false},
		{"only the status knows", users, withNodes("", []string{nodeCIDR}), "first-found", false},
		{"the spec takes precedence over the user", users, withNodes(nodeCIDR, nil), "cidr=" + nodeCIDR, true},
		{"the status takes precedence over the spec", "", withNodes(nodeCIDR, []string{"10.1.0.0/16", "2001:db8::/56", "10.2.0.0/16"}), "cidr=10.1.0.0/16,10.2.0.0/16", false},
		{"a status without IPv4", users, withNodes(nodeCIDR, []string{"2001:db8::/56"}), "", true},
		{"an empty method", "ipv4: {autoDetectionMethod: ''}", withNodes("", nil), "", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			n := build(t, test.config, test.nodes)
			g.Expect(n.env("calico-node")["IP_AUTODETECTION_METHOD"]).To(Equal(test.want))
			g.Expect(n.Warned("ipv4.autoDetectionMethod") != nil).To(Equal(test.warns))
		})
	}
}

func TestWithoutTheNodesRangeNoPoolKeepsSourceAddresses(t *testing.T) {
	g := NewWithT(t)
	n := build(t, "overlay: {enabled: false}", withNodes("", nil))
	g.Expect(n.has("IPPool", "default-ipv4-ippool")).To(BeTrue())
	g.Expect(n.has("IPPool", "no-snat-for-node-cidr")).To(BeFalse())
	g.Expect(n.env("calico-node")).NotTo(HaveKey("IP_AUTODETECTION_METHOD"))
}
