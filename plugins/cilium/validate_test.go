// SPDX-License-Identifier: Apache-2.0

package cilium_test

import (
	"testing"

	. "github.com/onsi/gomega"

	"github.com/trellis-network/trellis/pipeline"
	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/plugins/cilium"
)

func TestWhatIsRefused(t *testing.T) {
	const invalid = "Invalid value"
	for _, test := range []struct {
		config string
		want   []string
	}{
		{"kubeproxy: {k8sServiceHost: 'fe80::1%eth0', k8sServicePort: 443}", []string{invalid + " @ kubeproxy.k8sServiceHost"}},
		{"kubeproxy: {k8sServiceHost: ''}", []string{invalid + " @ kubeproxy.k8sServiceHost"}},
		{"kubeproxy: {k8sServiceHost: 'api..example.com'}", []string{invalid + " @ kubeproxy.k8sServiceHost"}},
		{"kubeproxy: {k8sServiceHost: 'https://api.example.com'}", []string{invalid + " @ kubeproxy.k8sServiceHost"}},
		{"kubeproxy: {k8sServicePort: 0}", []string{invalid + " @ kubeproxy.k8sServicePort"}},
		{"kubeproxy: {k8sServicePort: 65536}", []string{invalid + " @ kubeproxy.k8sServicePort"}},
		{"kubeproxy: {k8sServiceHost: API, k8sServicePort: -1}",
			[]string{invalid + " @ kubeproxy.k8sServiceHost", invalid + " @ kubeproxy.k8sServicePort"}},
		{"kubeProxy: {}", []string{invalid + " @ kubeProxy"}},
		{"tunnel: VXLAN", []string{invalid + " @ tunnel"}},
		{"tunnel: ''", []string{invalid + " @ tunnel"}},
		{"tunnelMode: vxlan", []string{invalid + " @ tunnelMode"}},
		{"store: etcd", []string{invalid + " @ store"}},
		{"mtu: -1", []string{invalid + " @ mtu"}},
		{"mtu: 65536", []string{invalid + " @ mtu"}},
		{"mtu: '1450'", []string{invalid + " @ mtu"}},
		{"devices: [eth0, '', a-name-that-is-too-long, eth/0, 'eth 0']",
			[]string{invalid + " @ devices[1]", invalid + " @ devices[2]", invalid + " @ devices[3]", invalid + " @ devices[4]"}},
		{"devices: ['a/name/that/is/too/long']", []string{invalid + " @ devices[0]"}},
		{"devices: eth0", []string{invalid + " @ devices"}},
		{"directRoutingDevice: ''", []string{invalid + " @ directRoutingDevice"}},
		{"directRoutingDevice: \"eth\\t0\"", []string{invalid + " @ directRoutingDevice"}},
		{"loadBalancingMode: DSR", []string{invalid + " @ loadBalancingMode"}},
		{"l2Announcements: {leaseDuration: 15}", []string{invalid + " @ l2Announcements.leaseDuration"}},
		{"l2Announcements: {leaseDuration: 15 seconds}", []string{invalid + " @ l2Announcements.leaseDuration"}},
		{"encryption: {enabled: true, mode: ipsec}", []string{invalid + " @ encryption.mode"}},
		{"encryption: {enabled: true, mode: ipsec, strictMode: true}", []string{invalid + " @ encryption.mode"}},
		{"encryption: {enabled: true, strictMode: true}", []string{invalid + " @ encryption.mode"}},
		{"encryption: {enabled: true, mode: wireGuard, strictMode: true}", []string{invalid + " @ encryption.mode"}},
		{"hubble: {enabled: true, ui: {enabled: true}}", []string{invalid + " @ hubble.ui"}},
		{"enableIPv4Masquerade: true", []string{invalid + " @ enableIPv4Masquerade"}},
		{"overlay: {enabled: 'true'}", []string{invalid + " @ overlay.enabled"}},
		{"tunnel: gre\nmtu: -1", []string{invalid + " @ tunnel", invalid + " @ mtu"}},
	} {
		t.Run(test.config, func(t *testing.T) {
			NewWithT(t).Expect(try(t, test.config).Refusals()).To(Equal(test.want))
		})
	}
}

// What Gardener's extension only finds when it renders, or the agents when they start.
func TestWhatWouldFailLateIsRefused(t *testing.T) {
	const forbidden, required = "Forbidden", "Required value"
	reported := func(cidrs ...string) option { return func(f *plugin.Input) { f.PodCIDRs = cidrs } }
	withoutAddress := func(f *plugin.Input) { f.APIServer.ExternalHost = "" }
	for _, test := range []struct {
		name, config string
		options      []option
		want         []string
		says         string
	}{
		{"DSR through a tunnel", "loadBalancingMode: dsr", nil,
			[]string{forbidden + " @ loadBalancingMode"}, "write snat, or write overlay.enabled: false"},
		{"DSR without a native routing CIDR", "{loadBalancingMode: dsr, tunnel: disabled}", nil,
			[]string{forbidden + " @ loadBalancingMode"}, "write overlay.enabled: false"},
		{"DSR in a network of IPv6", "{loadBalancingMode: dsr, overlay: {enabled: false}}", []option{ipv6Only},
			[]string{forbidden + " @ loadBalancingMode"}, "dsr needs IPv4, which the network does not have; write snat"},
		{"egress gateway with kube-proxy", "egressGateway: {enabled: true}", nil,
			[]string{forbidden + " @ egressGateway.enabled"}, "spec.kubernetes.kubeProxy.enabled of the Shoot to false"},
		{"egress gateway without tunnel", "{egressGateway: {enabled: true}, tunnel: disabled}", []option{withoutKubeProxy},
			[]string{forbidden + " @ egressGateway.enabled"}, "set overlay.enabled to true"},
		{"egress gateway without overlay", "{egressGateway: {enabled: true}, overlay: {enabled: false}}", []option{withoutKubeProxy},
			[]string{forbidden + " @ egressGateway.enabled"}, "set overlay.enabled to true"},
		{"egress gateway with neither", "{egressGateway: {enabled: true}, overlay: {enabled: false}}", nil,
			[]string{forbidden + " @ egressGateway.enabled", forbidden + " @ egressGateway.enabled"}, "needs a tunnel"},
		{"egress gateway with rules in iptables", "{egressGateway: {enabled: true}, snatToUpstreamDNS: {enabled: true}}", []option{withoutKubeProxy},
			[]string{forbidden + " @ egressGateway.enabled"}, "leave snatToUpstreamDNS and snatOutOfCluster out"},
		{"egress gateway without masquerading", "{egressGateway: {enabled: true}, enableIpv4Masquerade: false, enableBPFMasquerade: false}", []option{withoutKubeProxy},
			[]string{forbidden + " @ egressGateway.enabled"}, "set enableBPFMasquerade to true and set enableIpv4Masquerade to true"},
		{"egress gateway in a network of IPv6", "egressGateway: {enabled: true}", []option{withoutKubeProxy, ipv6Only},
			[]string{forbidden + " @ egressGateway.enabled"}, "list IPv4"},
		{"IPVS with NodeLocalDNS", "", []option{withIPVS, withNodeLocalDNS},
			[]string{forbidden + " @ spec.kubernetes.kubeProxy.mode"}, "write IPTables"},
		{"no address of the API server", "", []option{withoutKubeProxy, withoutAddress},
			[]string{required + " @ status.advertisedAddresses"}, "set kubeproxy.k8sServiceHost and kubeproxy.k8sServicePort"},
		{"no address of the API server, and half of one", "kubeproxy: {k8sServiceHost: api.example.com}", []option{withoutKubeProxy, withoutAddress},
			[]string{required + " @ status.advertisedAddresses"}, "address named external"},
		{"native routing of IPv6 in a network of IPv4", "ipv6NativeRoutingCIDREnabled: true", nil,
			[]string{forbidden + " @ ipv6NativeRoutingCIDREnabled"}, "the network has no IPv6"},
		{"native routing of IPv6 without its range", "overlay: {enabled: false}", []option{dualStack, reported(podCIDR)},
			[]string{required + " @ status.networking.pods"}, "wait for the infrastructure"},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			n := try(t, test.config, test.options...)
			g.Expect(n.Refusals()).To(Equal(test.want))
			g.Expect(n.Errors.ToAggregate()).To(MatchError(ContainSubstring(test.says)))
		})
	}
}

// A Shoot's status is empty until Gardener starts to create the cluster.
func TestAShootNeedNotTellWhatItsStatusWill(t *testing.T) {
	for name, options := range map[string][]option{
		"address of the API server": {func(f *plugin.Input) { f.KubeProxy.Enabled = false }},
		"range of IPv6":             {dualStack, func(f *plugin.Input) { f.PodCIDRs = nil }},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			request := requestFor(t, "overlay: {enabled: false}", options...)
			g.Expect(tryRequest(t, request).Errors).To(HaveLen(1))
			request.Facts.Planned = true
			g.Expect(tryRequest(t, request).Errors).To(BeEmpty())
		})
	}
}

func TestErrorsSayWhatIsAllowed(t *testing.T) {
	for config, want := range map[string]string{
		"tunnel: gre":                                   "must be one of vxlan, geneve, disabled",
		"loadBalancingMode: maglev":                     "must be one of snat, dsr, hybrid",
		"store: etcd":                                   "must be one of kubernetes",
		"kubeproxy: {k8sServicePort: 70000}":            "must be a port from 1 to 65535",
		"encryption: {enabled: true, mode: ipsec}":      "is not supported, since Trellis does not bring the keys; write wireguard",
		"encryption: {enabled: true, strictMode: true}": "must be wireguard together with strictMode: true",
	} {
		t.Run(config, func(t *testing.T) {
			NewWithT(t).Expect(try(t, config).Errors.ToAggregate()).To(MatchError(ContainSubstring(want)))
		})
	}
}

func TestOnlyOneGroupIsRead(t *testing.T) {
	for header, errors := range map[string]int{
		"": 0,
		"apiVersion: cilium.networking.extensions.gardener.cloud/v1alpha1\nkind: NetworkConfig\n": 0,
		"apiVersion: calico.networking.extensions.gardener.cloud/v1alpha1\nkind: NetworkConfig\n": 1,
		"kind: NetworkStatus\n": 1,
	} {
		t.Run(header, func(t *testing.T) {
			NewWithT(t).Expect(try(t, header+"debug: true\n").Errors).To(HaveLen(errors))
		})
	}
}

func TestPathsAreInTheAuthorsTerms(t *testing.T) {
	g := NewWithT(t)
	request := requestFor(t, "tunnel: x")
	request.Author = pipeline.AuthorShoot
	g.Expect(tryRequest(t, request).Errors[0].Field).To(Equal("spec.networking.providerConfig.tunnel"))
}

// Gardener's extension for OpenStack fails on such a Shoot. Elsewhere it is a way to say that there is none.
func TestAnOverlayThatStatesNothingIsRefusedWhereGardenerNeedsIt(t *testing.T) {
	planned := func(f *plugin.Input) {
		f.Planned, f.Infrastructure = true, plugin.Infrastructure{Type: "openstack", PodRoutes: true, ReadsOverlay: []string{cilium.Type}}
	}
	for _, config := range []string{"overlay: {}", "overlay: {createPodRoutes: true}"} {
		g := NewWithT(t)
		n := try(t, config, planned)
		g.Expect(n.Refusals()).To(Equal([]string{"Required value @ overlay.enabled"}))
		g.Expect(n.Errors[0].Detail).To(Equal("write false, which it means without a value; Gardener's extension for openstack fails on such an overlay"))
		for name, change := range map[string]func(*plugin.Input){
			"in a cluster that runs": func(f *plugin.Input) { f.Planned = false },
			"elsewhere":              func(f *plugin.Input) { f.Infrastructure.ReadsOverlay = []string{"calico"} },
		} {
			n := build(t, config, func(f *plugin.Input) { planned(f); change(f) })
			g.Expect(n.Values["overlay.enabled"]).To(BeFalse(), name)
			g.Expect(n.Origins["overlay.enabled"].String()).To(Equal("default"), name)
		}
	}
}
