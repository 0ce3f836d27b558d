// SPDX-License-Identifier: Apache-2.0

package calico_test

import (
	"testing"

	. "github.com/onsi/gomega"

	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/plugins/calico"
	"github.com/trellis-network/trellis/test/built"
)

func TestEnvironmentOfEachFamily(t *testing.T) {
	v4 := map[string]string{"IP": "autodetect", "CALICO_IPV4POOL_CIDR": podCIDR}
	v6 := map[string]string{"IP6": "autodetect", "CALICO_IPV6POOL_CIDR": podCIDR6, "CALICO_IPV6POOL_NAT_OUTGOING": "false",
		"CALICO_ROUTER_ID": "hash", "FELIX_IPV6SUPPORT": "true"}
	noV6 := map[string]string{"IP6": absent, "CALICO_IPV6POOL_VXLAN": absent, "CALICO_IPV6POOL_CIDR": absent,
		"CALICO_IPV6POOL_NAT_OUTGOING": absent, "CALICO_ROUTER_ID": absent, "IP6_AUTODETECTION_METHOD": absent, "FELIX_IPV6SUPPORT": "false"}
	noV4 := map[string]string{"IP": "none", "CALICO_IPV4POOL_CIDR": absent, "CALICO_IPV4POOL_IPIP": absent,
		"CALICO_IPV4POOL_VXLAN": absent, "IP_AUTODETECTION_METHOD": absent}
	for _, test := range []struct {
		name  string
		facts option
		want  []map[string]string
	}{
		{"none stated", func(f *plugin.Input) { f.IPFamilies = nil }, []map[string]string{v4, noV6}},
		{"IPv4", func(*plugin.Input) {}, []map[string]string{v4, noV6}},
		{"IPv6", ipv6Only, []map[string]string{v6, noV4}},
		{"both", dualStack, []map[string]string{v4, v6}},
		{"on the way to both", migrating, []map[string]string{v4, noV6}},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			env := build(t, "", test.facts).env("calico-node")
			for _, each := range test.want {
				for name, value := range each {
					if value == absent {
						g.Expect(env).NotTo(HaveKey(name))
					} else {
						g.Expect(env).To(HaveKeyWithValue(name, value))
					}
				}
			}
		})
	}
}

func TestNodesFindTheirIPv6AddressInTheirRange(t *testing.T) {
	const users = "ipv6: {autoDetectionMethod: interface=eth0}"
	for _, test := range []struct {
		name, config string
		nodes        option
		v4, v6       string
	}{
		{"nothing is known", users, withNodes("", nil), "", "interface=eth0"},
		{"the spec says nothing of IPv6", users, withNodes(nodeCIDR, nil), "cidr=" + nodeCIDR, "interface=eth0"},
		{"nor if it has an IPv6 range", users, withNodes("2001:db8:3::/64", nil), "", "interface=eth0"},
		{"the status does", users, withNodes(nodeCIDR, []string{nodeCIDR, "2001:db8:3::/64", "2001:db8:4::/64"}),
			"cidr=" + nodeCIDR, "cidr=2001:db8:3::/64,2001:db8:4::/64"},
		{"the status has none of IPv6", users, withNodes(nodeCIDR, []string{nodeCIDR}), "cidr=" + nodeCIDR, ""},
		{"the status alone does not count", users, withNodes("", []string{nodeCIDR, "2001:db8:3::/64"}), "", "interface=eth0"},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			n := build(t, test.config, dualStack, test.nodes)
			for _, container := range []string{"calico-node", "network-unavailable-condition-ensurer"} {
				if container != "calico-node" {
					n = build(t, "{overlay: {enabled: false, createPodRoutes: true}, "+test.config+"}", dualStack, test.nodes)
				}
				env := n.env(container)
				g.Expect(env["IP_AUTODETECTION_METHOD"]).To(Equal(test.v4))
				g.Expect(env["IP6_AUTODETECTION_METHOD"]).To(Equal(test.v6))
			}
		})
	}
}

func TestAddressesOfEachFamilyComeFromTheNodesRanges(t *testing.T) {
	for _, test := range []struct {
		name, config string
		families     option
		want         map[string]any
	}{
		{"IPv6", "", ipv6Only, map[string]any{"type": "host-local", "subnet": "usePodCidrIPv6", "assign_ipv4": "false", "assign_ipv6": "true"}},
		{"IPv6, as users write it", "ipam: {cidr: usePodCIDR}", ipv6Only,
			map[string]any{"type": "host-local", "subnet": "usePodCidrIPv6", "assign_ipv4": "false", "assign_ipv6": "true"}},
		{"IPv6, one range", "ipam: {cidr: 2001:db8:1:1::/64}", ipv6Only,
			map[string]any{"type": "host-local", "subnet": "2001:db8:1:1::/64", "assign_ipv4": "false", "assign_ipv6": "true"}},
		{"both", "", dualStack, dualStackIPAM("host-local")},
		{"both, whatever range is written", "ipam: {cidr: 100.64.1.0/24}", dualStack, dualStackIPAM("host-local")},
		{"both, VXLAN", "{overlay: {enabled: true}, vxlan: {enabled: true}}", dualStack, dualStackIPAM("calico-ipam")},
	} {
		t.Run(test.name, func(t *testing.T) {
			NewWithT(t).Expect(cniPlugin(build(t, test.config, test.families))["ipam"]).To(Equal(test.want))
		})
	}
}

func dualStackIPAM(kind string) map[string]any {
	return map[string]any{"type": kind, "assign_ipv4": "true", "assign_ipv6": "true", "ranges": []any{
		[]any{map[string]any{"subnet": "usePodCidrIPv6"}}, []any{map[string]any{"subnet": "usePodCidr"}},
	}}
}

func TestOrderOfTheFamiliesDoesNotMatter(t *testing.T) {
	g := NewWithT(t)
	want := build(t, "", dualStack)
	got := build(t, "", dualStack, func(f *plugin.Input) {
		f.IPFamilies = []extensionsv1alpha1.IPFamily{extensionsv1alpha1.IPv6, extensionsv1alpha1.IPv4}
	})
	g.Expect(built.Documents(t, got.Objects.For(plugin.Shoot))).To(Equal(built.Documents(t, want.Objects.For(plugin.Shoot))))
}

func TestIPv6RangeOfThePods(t *testing.T) {
	for _, test := range []struct {
		name     string
		families option
		status   []string
		want     string
	}{
		{"the last one that is reported", dualStack, []string{"2001:db8:8::/56", podCIDR, "2001:db8:9::/56"}, "2001:db8:9::/56"},
		{"the Network's own", ipv6Only, nil, podCIDR6},
		{"not known yet", dualStack, []string{podCIDR}, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			n := build(t, "", test.families, func(f *plugin.Input) { f.PodCIDRs = test.status })
			g.Expect(n.env("calico-node")).To(HaveKeyWithValue("CALICO_IPV6POOL_CIDR", test.want))
			g.Expect(n.Spec("IPPool", "default-ipv6-ippool")).To(Equal(map[string]any{
				"allowedUses": []any{"Workload", "Tunnel"}, "blockSize": int64(122), "cidr": test.want,
				"ipipMode": "Never", "vxlanMode": "Never", "natOutgoing": false, "nodeSelector": "all()",
			}))
			g.Expect(n.Warned("ipv6") != nil).To(Equal(test.want == ""))
		})
	}
}

// A user who states one range for two families states that of IPv4, but need not.
func TestIPv4PoolHasARangeOfIPv4(t *testing.T) {
	for _, test := range []struct {
		name, spec string
		status     []string
		want       string
	}{
		{"the Network's own", podCIDR, []string{"10.7.0.0/16", podCIDR6}, podCIDR},
		{"the first one that is reported", podCIDR6, []string{podCIDR6, "10.7.0.0/16"}, "10.7.0.0/16"},
		{"not known", podCIDR6, nil, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			request := requestFor(t, "overlay: {enabled: false}", dualStack)
			request.Spec.PodCIDR, request.Facts.PodCIDRs = test.spec, test.status
			n := tryRequest(t, request)
			g.Expect(n.Errors).To(BeEmpty())
			g.Expect(n.env("calico-node")).To(HaveKeyWithValue("CALICO_IPV4POOL_CIDR", test.want))
			g.Expect(n.Spec("IPPool", "default-ipv4-ippool")).To(HaveKeyWithValue("cidr", test.want))
			g.Expect(n.env("add-snat-rule-to-upstream-dns")).To(HaveKeyWithValue("POD_CIDR", test.want))
			g.Expect(n.Warned("ipv4") != nil).To(Equal(test.want == ""))
		})
	}
}

func TestWireGuardMasqueradesIPv6UnlessToldOtherwise(t *testing.T) {
	for config, want := range map[string]string{
		"":                          "false",
		"wireguardEncryption: true": "true",
		"{wireguardEncryption: true, ipv6: {sourceNATEnabled: false}}": "false",
		"ipv6: {sourceNATEnabled: true}":                               "true",
	} {
		t.Run(config, func(t *testing.T) {
			g := NewWithT(t)
			n := build(t, config, dualStack)
			g.Expect(n.env("calico-node")).To(HaveKeyWithValue("CALICO_IPV6POOL_NAT_OUTGOING", want))
		})
	}
}

func TestBirdExporterLooksAtBothFamilies(t *testing.T) {
	g := NewWithT(t)
	n := build(t, "birdExporter: {enabled: true}", dualStack)
	g.Expect(n.container("bird-exporter").Args).NotTo(ContainElement("-bird.ipv6=false"))
}

func TestWhatIsRefusedOfAFamily(t *testing.T) {
	for _, test := range []struct {
		name, config string
		families     option
		want         []string
	}{
		{"IPv4 without IPv4", "ipv4: {}", ipv6Only, []string{"Forbidden @ ipv4"}},
		{"IPv4's former field without IPv4", "ipip: Never", ipv6Only, []string{"Forbidden @ ipip"}},
		{"IPv6 before all nodes are ready", "ipv6: {}", migrating, []string{"Forbidden @ ipv6"}},
		{"calico-ipam with IPv6", "ipam: {type: calico-ipam}", ipv6Only, []string{"Invalid value @ ipam.type"}},
		{"calico-ipam with both", "ipam: {type: calico-ipam}", dualStack, []string{"Invalid value @ ipam.type"}},
		{"calico-ipam on the way to both", "ipam: {type: calico-ipam}", migrating, []string{"Invalid value @ ipam.type"}},
		{"IP-in-IP for IPv6", "ipv6: {pool: ipip}", dualStack, []string{"Invalid value @ ipv6.pool"}},
		{"a mode that VXLAN lacks", "ipv6: {pool: vxlan, mode: CrossSubnet}", dualStack, []string{"Invalid value @ ipv6.mode"}},
		{"a mode that there is not", "ipv6: {mode: always}", dualStack, []string{"Invalid value @ ipv6.mode"}},
		{"a way to find addresses that there is not", "ipv6: {autoDetectionMethod: 'cidr=x'}", dualStack, []string{"Invalid value @ ipv6.autoDetectionMethod"}},
		{"the word for the IPv6 range", "ipam: {cidr: usePodCidrIPv6}", ipv6Only, []string{"Invalid value @ ipam.cidr"}},
		{"any mode that IPv6 can have", "ipv6: {mode: CrossSubnet}", dualStack, nil},
		{"VXLAN for IPv6", "ipv6: {pool: vxlan, mode: Never}", dualStack, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			NewWithT(t).Expect(try(t, test.config, test.families).Refusals()).To(Equal(test.want))
		})
	}
}

func TestUsersAreToldWhatIPv6DoesNotDo(t *testing.T) {
	for _, test := range []struct {
		name, config string
		families     option
		want         map[string]string
	}{
		{name: "B1", families: ipv6Only},
		{name: "B2", families: ipv6Only, config: "overlay: {enabled: false}"},
		{name: "B3", families: ipv6Only, config: "overlay: {enabled: true}",
			want: map[string]string{"overlay.enabled": "default-ipv6-ippool never encapsulates"}},
		{name: "C1", families: dualStack},
		{name: "C2", families: dualStack, config: "overlay: {enabled: false}"},
		{name: "a backend without overlay", families: dualStack, config: "backend: bird",
			want: map[string]string{"backend": "bird is not in force, none is: IPv6 packets travel as they are unless overlay is there"}},
		{name: "a mode", families: dualStack, config: "ipv6: {mode: Always}",
			want: map[string]string{"ipv6.mode": "Always is not in force, Never is"}},
		{name: "a range for both", families: dualStack, config: "ipam: {cidr: 100.64.1.0/24}",
			want: map[string]string{"ipam.cidr": "100.64.1.0/24 is not in force, usePodCidr is: with two IP families"}},
		{name: "the mode of IPv4", families: dualStack, config: "{overlay: {enabled: false}, ipv4: {mode: CrossSubnet}}",
			want: map[string]string{"ipv4.mode": "default-ipv4-ippool still says Never"}},
		{name: "a VXLAN pool for IPv4", families: dualStack, config: "ipv4: {pool: vxlan}",
			want: map[string]string{"ipv4.pool": "since ipv4.mode is Never with backend none"}},
		{name: "VXLAN without IPv4", families: ipv6Only, config: "vxlan: {enabled: true}",
			want: map[string]string{"vxlan.enabled": "VXLAN is for IPv4"}},
		{name: "a deprecated field", families: ipv6Only, config: "ipAutodetectionMethod: first-found",
			want: map[string]string{"ipAutodetectionMethod": "has no effect"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			build(t, test.config, test.families).ExpectWarnings(test.want)
		})
	}
}

// C3 and C4 contradict themselves in more than one way.
func TestAnOverlayForBothFamiliesIsToldToBeNone(t *testing.T) {
	g := NewWithT(t)
	g.Expect(build(t, "overlay: {enabled: true}", dualStack).Warned("overlay.enabled")).To(ConsistOf(
		ContainSubstring("IPv6 packets still travel as they are"), ContainSubstring("IPv4 packets may not arrive")))
	n := build(t, "{overlay: {enabled: true}, ipv4: {pool: vxlan}}", dualStack)
	g.Expect(n.Warned("ipv4.pool")).To(ConsistOf(ContainSubstring("default-ipv4-ippool still says IP-in-IP")))
	n = build(t, "{overlay: {enabled: true}, vxlan: {enabled: true}}", dualStack)
	g.Expect(n.Warned("overlay.enabled")).To(HaveLen(1))
	g.Expect(n.Warned("ipam.type")).To(ConsistOf(ContainSubstring("IPv6 addresses without routes")))
}

func TestWithoutIPIPItIsOnlyIPv4ThatNeedsVXLAN(t *testing.T) {
	g := NewWithT(t)
	n := build(t, "overlay: {enabled: true}", onAzure, ipv6Only)
	g.Expect(n.data("calico-config")).To(HaveKeyWithValue("calico_backend", "bird"))
	n = build(t, "overlay: {enabled: true}", onAzure, dualStack)
	g.Expect(n.data("calico-config")).To(HaveKeyWithValue("calico_backend", "vxlan"))
}

// Which families may follow on which, the pipeline says.
func TestWhatFamiliesThatComeAndGoMean(t *testing.T) {
	ipv4Only := func(f *plugin.Input) { f.IPFamilies = []extensionsv1alpha1.IPFamily{extensionsv1alpha1.IPv4} }
	for _, test := range []struct {
		name          string
		config        string
		before, after option
		path          string
		want          plugin.ChangeClass
	}{
		{"both instead of IPv4, routed", "overlay: {enabled: false}", migrating, dualStack, "ipv6.mode", plugin.Rolling},
		{"both instead of IPv4 through IP-in-IP", "overlay: {enabled: true}", migrating, dualStack, "ipv6.mode", plugin.Disruptive},
		{"both instead of IPv4", "", migrating, dualStack, "ipv6.mode", plugin.Disruptive},
		{"and with it no BIRD", "", migrating, dualStack, "backend", plugin.Disruptive},
		{"IPv4 instead of both", "", dualStack, ipv4Only, "ipv6.mode", plugin.Disruptive},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			n := then(build(t, test.config, test.before), test.config, test.after)
			g.Expect(n.Errors).To(BeEmpty())
			g.Expect(n.Classes()).To(HaveKeyWithValue(test.path, test.want))
		})
	}
}

// A node that is late takes IPv6 from no pod.
func TestBothFamiliesStayWhileANodeIsNotReady(t *testing.T) {
	g := NewWithT(t)
	const masquerading = "ipv6: {sourceNATEnabled: true}"
	n := then(build(t, masquerading, dualStack), masquerading, migrating)
	g.Expect(n.Errors).To(BeEmpty())
	g.Expect(n.Changes).To(BeEmpty())
	g.Expect(n.env("calico-node")).To(HaveKeyWithValue("IP6", "autodetect"))
}

// What a network of IPv4 would restart for is nothing to another.
func TestValuesOfNoUseToIPv6AreSafeToChange(t *testing.T) {
	for _, test := range []struct {
		after    string
		families option
		path     string
	}{
		{"ipam: {cidr: USEPODCIDR}", dualStack, "ipam.cidr"},
		{"vxlan: {enabled: true}", ipv6Only, "vxlan.enabled"},
	} {
		t.Run(test.after, func(t *testing.T) {
			g := NewWithT(t)
			before := build(t, "", test.families)
			n := then(before, test.after, test.families)
			g.Expect(n.Classes()).To(Equal(map[string]plugin.ChangeClass{test.path: plugin.Safe}))
			g.Expect(built.Documents(t, n.Objects.For(plugin.Shoot))).To(Equal(built.Documents(t, before.Objects.For(plugin.Shoot))))
		})
	}
}

// BIRD makes them with an overlay and without, and IPv6 never travels otherwise.
func TestPodRoutesOfIPv6StayWhenTheOverlayGoes(t *testing.T) {
	n := changed(t, "overlay: {enabled: true}", "overlay: {enabled: false, createPodRoutes: true}", ipv6Only)
	NewWithT(t).Expect(n.Classes()).To(HaveKeyWithValue("overlay.createPodRoutes", plugin.Rolling))
}

func TestIPv6SourceNATIsOnlyDisruptiveWhenItGoes(t *testing.T) {
	g := NewWithT(t)
	const on, off = "ipv6: {sourceNATEnabled: true}", "ipv6: {sourceNATEnabled: false}"
	g.Expect(changed(t, off, on, dualStack).Changes[0].Class).To(Equal(plugin.Rolling))
	g.Expect(changed(t, on, off, dualStack).Changes[0].Class).To(Equal(plugin.Disruptive))
}

func TestARangeOfNodesMustBeOneWithIPv6Too(t *testing.T) {
	NewWithT(t).Expect(try(t, "", ipv6Only, withNodes("10.250.0.0", nil)).Refusals()).
		To(Equal([]string{"Invalid value @ shoot.spec.networking.nodes"}))
}

func TestAllFamiliesAreServed(t *testing.T) {
	p := calico.New()
	NewWithT(t).Expect(p.IPFamilies).To(Equal(plugin.IPFamilySupport{IPv4: true, IPv6: true, DualStack: true}))
}
