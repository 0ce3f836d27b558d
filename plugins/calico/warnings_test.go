// SPDX-License-Identifier: Apache-2.0

package calico_test

import (
	"slices"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/trellis-network/trellis/plugin"
)

func withNodeLocalDNS(facts *plugin.Input) { facts.NodeLocalDNS = true }

func TestUsersAreToldWhatIsNotInForce(t *testing.T) {
	for _, test := range []struct {
		name, config string
		options      []option
		want         map[string]string // the warnings' paths, and part of their messages
	}{
		{name: "nothing to tell of a default network", config: ""},
		{name: "A2", config: "overlay: {enabled: true}"},
		{name: "A3", config: "{overlay: {enabled: true}, vxlan: {enabled: true}}"},
		{name: "A4", config: "{overlay: {enabled: true}, ipv4: {pool: vxlan}}",
			want: map[string]string{"ipv4.pool": "packets still travel through IP-in-IP"}},
		{name: "A5", config: "{overlay: {enabled: true}, backend: none, ipv4: {mode: CrossSubnet}}", want: map[string]string{
			"backend":   "none is not in force, bird is: overlay.enabled is true",
			"ipv4.mode": "CrossSubnet is not in force, Always is: overlay.enabled is true"}},
		{name: "A6", config: "overlay: {enabled: false}"},
		{name: "A8", config: "{overlay: {enabled: false}, vxlan: {enabled: true}}", want: map[string]string{
			"vxlan.enabled": "packets are still not encapsulated",
			"ipam.type":     "nothing collects addresses"}},
		{name: "A11", config: "backend: none"},
		{name: "A12", config: "backend: vxlan", want: map[string]string{"backend": "the address pool uses IP-in-IP"}},
		{name: "backend vxlan where nothing is encapsulated", config: "{backend: vxlan, ipv4: {mode: Never}}",
			want: map[string]string{"backend": "packets travel as they are, since ipv4.mode is Never or Off, and for such packets backend vxlan makes no routes"}},
		{name: "backend vxlan and an address pool of VXLAN", config: "{backend: vxlan, ipv4: {pool: vxlan}}"},
		{name: "A13", config: "ipv4: {mode: CrossSubnet}"},
		{name: "A14", config: "{backend: none, ipv4: {mode: Always}}", want: map[string]string{"ipv4.mode": "Felix sets up no IP-in-IP"}},
		{name: "a pool against VXLAN", config: "{vxlan: {enabled: true}, ipv4: {pool: ipip}}",
			want: map[string]string{"vxlan.enabled": "since ipv4.pool is ipip"}},
		{name: "a mode against VXLAN", config: "{vxlan: {enabled: true}, ipv4: {mode: Never}}",
			want: map[string]string{"vxlan.enabled": "packets are still not encapsulated, since ipv4.mode is Never or Off"}},
		{name: "the other word of it against VXLAN", config: "{vxlan: {enabled: true}, ipv4: {mode: 'Off'}}",
			want: map[string]string{"vxlan.enabled": "what remains of it is ipam.type calico-ipam"}},
		{name: "a pool and a mode against VXLAN", config: "{vxlan: {enabled: true}, ipv4: {pool: ipip, mode: Never}}",
			want: map[string]string{"vxlan.enabled": "packets are still not encapsulated"}},
		{name: "a pool and a backend against VXLAN", config: "{vxlan: {enabled: true}, backend: none, ipv4: {pool: ipip}}", want: map[string]string{
			"vxlan.enabled": "since ipv4.pool is ipip, and with backend none Felix sets up no IP-in-IP",
			"ipam.type":     "nothing collects addresses"}},
		{name: "a VXLAN pool where overlay is off", config: "{overlay: {enabled: false}, ipv4: {pool: vxlan}}",
			want: map[string]string{"ipv4.pool": "since overlay.enabled is false"}},
		{name: "who wants no overlay knows that nothing is encapsulated", config: "{overlay: {enabled: false}, ipv4: {pool: vxlan, mode: Never}}"},
		{name: "a VXLAN pool with backend none", config: "{backend: none, ipv4: {pool: vxlan}}",
			want: map[string]string{"ipv4.pool": "since ipv4.mode is Never with backend none"}},
		{name: "who writes Never with backend none knows it, too", config: "{backend: none, ipv4: {pool: vxlan, mode: Never}}"},
		{name: "a VXLAN pool without IP-in-IP", config: "ipv4: {pool: vxlan}", options: []option{onAzure},
			want: map[string]string{"ipv4.pool": "since ipv4.mode is Never with backend none"}},
		{name: "a pool against a VXLAN overlay", config: "{overlay: {enabled: true}, vxlan: {enabled: true}, ipv4: {pool: ipip}}",
			want: map[string]string{"ipv4.pool": "ipip is not in force, vxlan is"}},
		{name: "VXLAN against backend none", config: "{vxlan: {enabled: true}, backend: none}", want: map[string]string{
			"ipam.type": "nothing collects addresses"}},
		{name: "a VXLAN pool against backend none", config: "{backend: none, ipv4: {pool: vxlan, mode: Always}}"},
		{name: "a VXLAN pool for both families", config: "ipv4: {pool: vxlan}", options: []option{dualStack},
			want: map[string]string{"ipv4.pool": "since ipv4.mode is Never with backend none; leave it out"}},
		{name: "host-local against VXLAN", config: "{overlay: {enabled: true}, vxlan: {enabled: true}, ipam: {type: host-local}}",
			want: map[string]string{"ipam.type": "host-local is not in force, calico-ipam is: VXLAN needs calico-ipam"}},
		{name: "a range for calico-ipam", config: "ipam: {type: calico-ipam, cidr: 100.64.1.0/24}",
			want: map[string]string{"ipam.cidr": "100.64.1.0/24 is not in force, usePodCidr is"}},
		{name: "a range for VXLAN", config: "{overlay: {enabled: true}, vxlan: {enabled: true}, ipam: {cidr: 100.64.1.0/24}}",
			want: map[string]string{"ipam.cidr": "pods do not get addresses of this range"}},
		{name: "one range for all nodes", config: "ipam: {cidr: 100.64.1.0/24}",
			want: map[string]string{"ipam.cidr": "two pods on different nodes can get the same"}},
		{name: "routes of an overlay", config: "overlay: {enabled: true, createPodRoutes: true}",
			want: map[string]string{"overlay.createPodRoutes": "true is not in force, false is"}},
		{name: "SNAT with an overlay", config: "{overlay: {enabled: true}, snatToUpstreamDNS: {enabled: true}}",
			want: map[string]string{"snatToUpstreamDNS.enabled": "true is not in force, false is"}},
		{name: "SNAT without a word about overlay", config: "snatToUpstreamDNS: {enabled: true}",
			want: map[string]string{"snatToUpstreamDNS.enabled": "true is not in force, false is"}},
		{name: "NodeLocalDNS without overlay", config: "overlay: {enabled: false}", options: []option{withNodeLocalDNS},
			want: map[string]string{"snatToUpstreamDNS.enabled": "NetworkPolicies cannot block"}},
		{name: "NodeLocalDNS without SNAT", config: "{overlay: {enabled: false}, snatToUpstreamDNS: {enabled: false}}", options: []option{withNodeLocalDNS}},
		{name: "an exporter for no BIRD", config: "{backend: none, birdExporter: {enabled: true}}",
			want: map[string]string{"birdExporter.enabled": "nothing to export"}},
		{name: "plugins for no Multus", config: "multus: {enabled: false, installCNIPlugins: true}",
			want: map[string]string{"multus.installCNIPlugins": "multus.enabled is false"}},
		{name: "deprecated fields", config: "{ipip: Never, ipAutodetectionMethod: first-found}", want: map[string]string{
			"ipip":                  "Never has no effect: it is deprecated; write ipv4.mode instead",
			"ipAutodetectionMethod": "first-found has no effect: it is deprecated; write ipv4.autoDetectionMethod instead"}},
		{name: "resources of no use", config: "autoScaling: {mode: cluster-proportional, resources: {node: {cpu: 1}}}",
			want: map[string]string{"autoScaling.resources.node.cpu": "1 has no effect: only modes static and vpa"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			build(t, test.config, test.options...).ExpectWarnings(test.want)
		})
	}
}

// Whatever is combined, users are not warned of one field twice.
func TestEachFieldOfTheEncapsulationIsWarnedOfOnce(t *testing.T) {
	families := map[string]option{"IPv4": func(*plugin.Input) {}, "both families": dualStack, "IPv4 without IP-in-IP": withoutIPIP}
	for _, config := range combined(
		[]string{"{", "{overlay: {enabled: true}, ", "{overlay: {enabled: false}, "},
		[]string{"", "backend: none, ", "backend: vxlan, "},
		[]string{"", "vxlan: {enabled: true}, "},
		[]string{"ipv4: {", "ipv4: {pool: ipip, ", "ipv4: {pool: vxlan, "},
		[]string{"}}", "mode: Never}}", "mode: Always}}"},
	) {
		for name, option := range families {
			n := build(t, config, option)
			for _, path := range []string{"backend", "ipv4.pool", "ipv4.mode", "vxlan.enabled"} {
				NewWithT(t).Expect(len(n.Warned(path))).To(BeNumerically("<=", 1), "%s of %s, %s: %v", path, config, name, n.Warned(path))
			}
		}
	}
}

// combined are all texts that have one part of each list, in their order.
func combined(lists ...[]string) []string {
	texts := []string{""}
	for _, parts := range lists {
		var longer []string
		for _, text := range texts {
			for _, part := range parts {
				longer = append(longer, text+part)
			}
		}
		texts = longer
	}
	return texts
}

// Nothing is made of it either: pool no-snat-for-node-cidr would be one of IPv6.
func TestARangeOfIPv6NodesIsOfNoUseToIPv4(t *testing.T) {
	for _, test := range []struct {
		name     string
		families option
		warned   bool
		pool     bool
	}{
		{"IPv4", func(*plugin.Input) {}, true, false},
		{"on the way to both", migrating, false, false},
		{"both", dualStack, false, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			n := build(t, "overlay: {enabled: false}", test.families, withNodes("2001:db8:3::/64", nil))
			g.Expect(n.has("IPPool", "no-snat-for-node-cidr")).To(Equal(test.pool))
			told := slices.ContainsFunc(n.Warnings, func(w plugin.Warning) bool { return w.Field == "shoot.spec.networking.nodes" })
			g.Expect(told).To(Equal(test.warned))
		})
	}
}

func TestUsersAreToldOfRangesThatCannotWork(t *testing.T) {
	for name, test := range map[string]struct {
		config     string
		option     option
		path, want string
	}{
		"pods' addresses of another family": {"ipam: {cidr: '2001:db8::/64'}", withNodes("", nil), "ipam.cidr", "the network does not have the family"},
		"pods' addresses of IPv4 in IPv6":   {"ipam: {cidr: 100.64.1.0/24}", ipv6Only, "ipam.cidr", "the network does not have the family"},
		"pods' addresses among Services'":   {"ipam: {cidr: 100.96.1.0/24}", withNodes("", nil), "ipam.cidr", "overlaps with the Services' range"},
		"nodes' IPv4 addresses in IPv6":     {"ipv4: {autoDetectionMethod: 'cidr=2001:db8::/64'}", withNodes("", nil), "ipv4.autoDetectionMethod", "no node has an IPv4 address"},
		"nodes' IPv6 addresses in IPv4":     {"ipv6: {autoDetectionMethod: cidr=10.250.0.0/16}", dualStack, "ipv6.autoDetectionMethod", "no node has an IPv6 address"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			options := []option{test.option, func(f *plugin.Input) { f.NodeCIDR = "" }}
			g.Expect(build(t, test.config, options...).Warned(test.path)).To(ContainElement(ContainSubstring(test.want)))
		})
	}
}
