// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"fmt"
	"net"
	"net/netip"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/trellis-network/trellis/api/connectivity/v1alpha1"
	"github.com/trellis-network/trellis/internal/probe/apiserver"
)

func addresses(texts ...string) []netip.Addr {
	var all []netip.Addr
	for _, text := range texts {
		all = append(all, netip.MustParseAddr(text))
	}
	return all
}

func settings(podIPs ...string) Settings {
	return Settings{
		Node: "self", Namespace: "kube-system", Service: "trellis-probe", PodIPs: addresses(podIPs...), HostIPs: addresses("192.168.0.1"),
		Port: 8099, KubeletPort: 10250, Peers: 5, Interval: 10 * time.Second, ReportInterval: time.Minute, Version: "v1",
	}
}

func TestTargetsInBothFamilies(t *testing.T) {
	g := NewWithT(t)
	k := knowledge{
		Settings: settings("10.1.0.1", "fd00::1"), nodeAddresses: map[string][]netip.Addr{},
		serviceIPs: addresses("10.2.0.9", "fd01::9"),
		dns:        DNS{Servers: addresses("10.2.0.10"), Name: "trellis-probe.kube-system.svc.cluster.local."},
	}
	k.Outside = "example.com:443"
	k.roster.Update("self", []apiserver.Endpoint{endpoint("a", "10.1.1.1"), endpoint("a", "fd00::1:1")})
	k.learn("a", []string{"192.168.0.2", "nonsense", "fd02::2"})
	g.Expect(k.targets(start)).To(ConsistOf(
		Target{"IPv4", v1alpha1.CheckPods, "a", "10.1.1.1:8099"},
		Target{"IPv6", v1alpha1.CheckPods, "a", "[fd00::1:1]:8099"},
		Target{"IPv4", v1alpha1.CheckNodes, "self", "192.168.0.1:10250"},
		Target{"IPv4", v1alpha1.CheckNodes, "a", "192.168.0.2:10250"},
		Target{"IPv4", v1alpha1.CheckServices, "trellis-probe", "10.2.0.9:80"},
		Target{"IPv6", v1alpha1.CheckServices, "trellis-probe", "[fd01::9]:80"},
		Target{"IPv4", v1alpha1.CheckDNS, "trellis-probe.kube-system.svc.cluster.local.", "10.2.0.10:53"},
		Target{"IPv4", v1alpha1.CheckOutside, "example.com", "example.com:443"},
		Target{"IPv6", v1alpha1.CheckOutside, "example.com", "example.com:443"},
	))
	k.roster.Update("self", nil)
	k.forget()
	g.Expect(k.nodeAddresses).To(BeEmpty())
}

func TestOnlyFamiliesOfTheOwnPodAreTested(t *testing.T) {
	g := NewWithT(t)
	k := knowledge{Settings: settings("10.1.0.1"), serviceIPs: addresses("10.2.0.9", "fd01::9")}
	k.Outside = "[2001:db8::1]:443"
	k.roster.Update("self", []apiserver.Endpoint{endpoint("a", "10.1.1.1"), endpoint("a", "fd00::1:1")})
	for _, target := range k.targets(start) {
		g.Expect(target.Family).To(Equal(v1alpha1.IPv4))
	}
}

// The number of targets does not grow with the cluster, and all of them fit into a report.
func TestTargetsAreFewInALargeCluster(t *testing.T) {
	g := NewWithT(t)
	k := knowledge{Settings: settings("10.1.0.1", "fd00::1"), nodeAddresses: map[string][]netip.Addr{}}
	var all []apiserver.Endpoint
	for i := range 1000 {
		node := fmt.Sprintf("node-%d", i)
		all = append(all, endpoint(node, fmt.Sprintf("10.1.%d.%d", i/250, 1+i%250)), endpoint(node, fmt.Sprintf("fd00::%x", i+1)))
		k.learn(node, []string{"192.168.0.2", "fd02::2"})
	}
	k.roster.Update("self", all)
	counts := map[string]int{}
	for _, target := range k.targets(start) {
		counts[fmt.Sprint(target.Type, target.Family)]++
	}
	g.Expect(counts).To(Equal(map[string]int{"podsIPv4": 6, "podsIPv6": 6, "nodesIPv4": 7, "nodesIPv6": 6}))
}

func TestAPeerCannotNameAddressesOfItsChoice(t *testing.T) {
	g := NewWithT(t)
	k := knowledge{nodeAddresses: map[string][]netip.Addr{}}
	k.learn("a", []string{"127.0.0.1", "169.254.169.254"})
	g.Expect(k.nodeAddresses).To(BeEmpty())
	k.learn("a", []string{"192.168.0.2", "192.168.0.3", "192.168.0.4"})
	g.Expect(k.nodeAddresses["a"]).To(Equal(addresses("192.168.0.2", "192.168.0.3")))
	k.learn("a", []string{"127.0.0.1"})
	g.Expect(k.nodeAddresses["a"]).To(HaveLen(2), "a peer may not know its own for a moment")
}

// An owner of the cluster can change the Service, the pod and its resolv.conf, and must not lead the
// probe to its own loopback, or to what listens on the link of its node.
func TestNoTargetIsOnTheProbesOwnLink(t *testing.T) {
	g := NewWithT(t)
	bad := []string{"127.0.0.1", "::1", "169.254.169.254", "fe80::1", "224.0.0.1", "ff02::1", "0.0.0.0", "::ffff:127.0.0.1", "255.255.255.255"}
	for _, address := range bad {
		k := knowledge{
			Settings: settings("10.1.0.1", "fd00::1"), serviceIPs: addresses(address), nodeAddresses: map[string][]netip.Addr{},
			dns: DNS{Servers: addresses(address), Name: "trellis-probe.kube-system.svc.cluster.local."},
		}
		k.HostIPs, k.Outside = addresses(address), net.JoinHostPort(address, "443")
		k.roster.Update("self", []apiserver.Endpoint{endpoint("a", address)})
		k.learn("a", []string{address})
		g.Expect(k.targets(start)).To(BeEmpty(), address)
	}
}

// NodeLocal DNSCache answers at a link-local address. Nothing but DNS is asked there.
func TestTheDNSCacheOfTheNodeIsTested(t *testing.T) {
	g := NewWithT(t)
	k := knowledge{
		Settings: settings("10.1.0.1"), serviceIPs: addresses("169.254.20.10"),
		dns: DNS{Servers: addresses("169.254.20.10"), Name: "trellis-probe.kube-system.svc.cluster.local."},
	}
	k.HostIPs = nil
	g.Expect(k.targets(start)).To(ConsistOf(
		Target{"IPv4", v1alpha1.CheckDNS, "trellis-probe.kube-system.svc.cluster.local.", "169.254.20.10:53"},
	))
}

func TestAReportHasTheFailingTargetsAndTheSums(t *testing.T) {
	g := NewWithT(t)
	var all []Tested
	for i := range 10 {
		one := Tested{Target: Target{v1alpha1.IPv4, v1alpha1.CheckPods, fmt.Sprintf("node-%d", i), "10.1.1.1:8099"}}
		attempts(&one.History, i != 9, i != 9)
		all = append(all, one)
	}
	all = append(all, Tested{Target: Target{v1alpha1.IPv4, v1alpha1.CheckDNS, "name.", "10.2.0.10:53"}})
	report := NewReport(start, "v1", 9, nil, all)
	g.Expect(report.Checks).To(HaveLen(1), "DNS has not been tested yet")
	g.Expect(report.Checks[0].Results).To(HaveLen(8))
	g.Expect(report.Checks[0].Results).To(ContainElement(HaveField("Name", "node-9")), "it fails")
	g.Expect([]int32{report.Peers, report.Targets, report.Failing}).To(Equal([]int32{9, 8, 1}))
}
