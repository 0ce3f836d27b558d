// SPDX-License-Identifier: Apache-2.0

package podnet_test

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/utils/ptr"

	"github.com/trellis-network/trellis/api/connectivity/v1alpha1"
	"github.com/trellis-network/trellis/internal/probe/podnet"
)

// route is a /proc/net/route with a default route.
func route(gateway string) string {
	address := netip.MustParseAddr(gateway).As4()
	return "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n" +
		fmt.Sprintf("eth0\t00000000\t%08X\t0003\t0\t0\t0\t00000000\t0\t0\t0\n", binary.NativeEndian.Uint32(address[:]))
}

// arp is a /proc/net/arp with one entry.
func arp(address, flags string) string {
	return "IP address       HW type     Flags       HW address            Mask     Device\n" +
		address + "      0x1         " + flags + "         ee:ee:ee:ee:ee:ee     *        eth0\n"
}

func TestProxyARPIsReadOfTheGateway(t *testing.T) {
	pod := []netip.Addr{netip.MustParseAddr("10.244.1.5")}
	for name, test := range map[string]struct {
		prefix, route, arp string
		want               *bool
	}{
		"a link-local gateway, resolved":     {"10.244.1.5/32", route("169.254.1.1"), arp("169.254.1.1", "0x2"), ptr.To(true)},
		"a link-local gateway, permanent":    {"10.244.1.5/32", route("169.254.1.1"), arp("169.254.1.1", "0x6"), ptr.To(false)},
		"a link-local gateway, not resolved": {"10.244.1.5/32", route("169.254.1.1"), arp("169.254.1.1", "0x0"), nil},
		"an address of the node":             {"10.244.1.5/32", route("10.244.1.3"), arp("10.244.1.3", "0x2"), nil},
		"a bridge":                           {"10.244.1.5/24", route("10.244.1.1"), "", ptr.To(false)},
		"no gateway":                         {"10.244.1.5/24", "", "", nil},
		"nonsense":                           {"10.244.1.5/24", "eth0 00000000 xyz 1\nx", "x", nil},
	} {
		t.Run(name, func(t *testing.T) {
			interfaces := []podnet.Interface{
				{Name: "lo", MTU: 65536, Prefixes: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/8")}},
				{Name: "eth0", MTU: 1450, Prefixes: []netip.Prefix{netip.MustParsePrefix(test.prefix)}},
			}
			NewWithT(t).Expect(podnet.PodInterface(interfaces, pod, test.route, test.arp)).
				To(Equal(&v1alpha1.PodInterface{Name: "eth0", MTU: 1450, ProxyARP: test.want}))
		})
	}
	NewWithT(t).Expect(podnet.PodInterface(nil, pod, "", "")).To(BeNil())
}

func TestTheNameOfTheServiceHasTheDomainOfTheCluster(t *testing.T) {
	g := NewWithT(t)
	servers, name := podnet.DNS(`
# of the kubelet
search kube-system.svc.example.internal svc.example.internal example.internal example.com
nameserver 10.96.0.10
nameserver fd00::a
nameserver here
nameserver 10.0.0.1
nameserver 10.0.0.2
options ndots:5
`, "kube-system", "trellis-probe")
	g.Expect(name).To(Equal("trellis-probe.kube-system.svc.example.internal."))
	g.Expect(servers).To(Equal([]netip.Addr{netip.MustParseAddr("10.96.0.10"), netip.MustParseAddr("fd00::a"), netip.MustParseAddr("10.0.0.1")}))
	_, name = podnet.DNS("nameserver 10.0.0.1", "kube-system", "trellis-probe")
	g.Expect(name).To(BeEmpty())
}
