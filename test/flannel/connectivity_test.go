// SPDX-License-Identifier: Apache-2.0

package flannel

import (
	"fmt"
	"net/netip"
	"regexp"
	"strconv"
	"testing"

	. "github.com/onsi/gomega"

	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
)

var (
	ipv4      = []extensionsv1alpha1.IPFamily{extensionsv1alpha1.IPv4}
	ipv6      = []extensionsv1alpha1.IPFamily{extensionsv1alpha1.IPv6}
	dualStack = []extensionsv1alpha1.IPFamily{extensionsv1alpha1.IPv4, extensionsv1alpha1.IPv6}
)

func TestPodsReachEachOther(t *testing.T) {
	for _, test := range []struct {
		name     string
		config   string
		families []extensionsv1alpha1.IPFamily
		under    underlay
		mtu      int
		// through is the interface of the routes to pods of the other node.
		through map[extensionsv1alpha1.IPFamily]string
	}{
		{"vxlan, IPv4, iptables", "", ipv4, oneSegment, 1450,
			map[extensionsv1alpha1.IPFamily]string{"IPv4": "flannel.1"}},
		{"vxlan, IPv6, nftables", "{mtu: 1480, nftables: true, backend: {vni: 7, port: 4789}}", ipv6, oneSegment, 1430,
			map[extensionsv1alpha1.IPFamily]string{"IPv6": "flannel-v6.7"}},
		{"vxlan, both families, iptables, over a router", "{mtu: 1480}", dualStack, twoSubnets, 1430,
			map[extensionsv1alpha1.IPFamily]string{"IPv4": "flannel.1", "IPv6": "flannel-v6.1"}},
		{"vxlan with direct routes", "{mtu: 1480, backend: {directRouting: true}}", dualStack, oneSegment, 1430,
			map[extensionsv1alpha1.IPFamily]string{"IPv4": "eth0", "IPv6": "eth0"}},
		{"vxlan with direct routes, over a router", "{backend: {directRouting: true}}", ipv4, twoSubnets, 1450,
			map[extensionsv1alpha1.IPFamily]string{"IPv4": "flannel.1"}},
		{"host-gw, IPv4, nftables", "{backend: {type: host-gw}, nftables: true}", ipv4, oneSegment, 1500,
			map[extensionsv1alpha1.IPFamily]string{"IPv4": "eth0"}},
		{"host-gw, IPv6, iptables, smaller packets", "{backend: {type: host-gw}, mtu: 1400}", ipv6, oneSegment, 1400,
			map[extensionsv1alpha1.IPFamily]string{"IPv6": "eth0"}},
		{"host-gw, both families, nftables", "{backend: {type: host-gw}, nftables: true}", dualStack, oneSegment, 1500,
			map[extensionsv1alpha1.IPFamily]string{"IPv4": "eth0", "IPv6": "eth0"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			c := newCluster(t, test.config, test.families, test.under)
			one, two, near := newPod(c.a, "one"), newPod(c.b, "two"), newPod(c.a, "near")
			g.Expect(one.mtu()).To(Equal(strconv.Itoa(test.mtu)))
			for i, family := range test.families {
				g.Expect(two.addresses()).To(HaveLen(len(test.families)))
				from, to := one.addresses()[i], two.addresses()[i]
				g.Expect(netip.MustParsePrefix(podRange(1, family)).Contains(from)).To(BeTrue(), "%s", from)
				g.Expect(netip.MustParsePrefix(podRange(2, family)).Contains(to)).To(BeTrue(), "%s", to)
				g.Expect(c.a.routes(podRange(2, family))).To(MatchRegexp(" dev " + regexp.QuoteMeta(test.through[family]) + "( |$)"))

				for _, each := range []*attachment{one, two, near} {
					echo(t, each.network(), each.addresses()[i])
				}
				// What stays in the pod network keeps its address.
				g.Expect(exchange(one.network(), to)).To(Equal(from))
				g.Expect(exchange(two.network(), from)).To(Equal(to))
				g.Expect(exchange(one.network(), near.addresses()[i])).To(Equal(from))
				g.Expect(exchange(one.network(), from)).To(Equal(from), "a pod reaches itself")
				for _, n := range c.nodes() {
					_, err := exchange(n.network(), to)
					g.Expect(err).NotTo(HaveOccurred(), "node %s reaches pods", n.name)
				}
				// What leaves it has the node's.
				own, gateway, _ := test.under.address(1, family)
				echo(t, c.outside.network(), netip.MustParseAddr(gateway))
				g.Expect(exchange(one.network(), netip.MustParseAddr(gateway))).To(Equal(netip.MustParseAddr(own)))

				_, err := one.run("ping", "-c", "1", "-W", "3", "-M", "do", "-s", fmt.Sprint(largestPing(test.mtu, family)), to.String())
				g.Expect(err).NotTo(HaveOccurred(), "a packet of the pods' MTU")
			}
		})
	}
}

// largestPing is how many bytes a ping has that fills a packet.
func largestPing(mtu int, family extensionsv1alpha1.IPFamily) int {
	const icmp, header4, header6 = 8, 20, 40
	if family == extensionsv1alpha1.IPv6 {
		return mtu - header6 - icmp
	}
	return mtu - header4 - icmp
}
