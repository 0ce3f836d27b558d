// SPDX-License-Identifier: Apache-2.0

package cilium_test

import (
	"maps"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/trellis-network/trellis/plugin"
)

// absent is a setting that a network does not have, unlike the default one.
const absent = "(absent)"

// settings are those that differ from the file defaultSettings.
type settings map[string]string

// row is a config, and the settings that then differ from those of a default network.
type row struct {
	name, config string
	options      []option
	want         settings
}

// Settings that often come together.
var (
	native = settings{"routing-mode": "native", "tunnel-protocol": absent}
	routed = settings{"routing-mode": "native", "tunnel-protocol": absent, "ipv4-native-routing-cidr": podCIDR}

	replacing = settings{
		"kube-proxy-replacement": "true", "kube-proxy-replacement-healthz-bind-address": "0.0.0.0:10256",
		"enable-health-check-loadbalancer-ip": "true", "enable-health-check-nodeport": "true",
	}
	ofIPv6Only = settings{
		"enable-ipv4": "false", "enable-ipv6": "true",
		"enable-ipv4-masquerade": "false", "enable-bpf-masquerade": absent,
		"operator-api-serve-addr":   "[::1]:9234",
		"k8s-require-ipv4-pod-cidr": absent, "k8s-require-ipv6-pod-cidr": "true",
	}
	ofDualStack = settings{"enable-ipv6": "true", "k8s-require-ipv6-pod-cidr": "true"}
	wireGuard   = settings{"enable-wireguard": "true", "wireguard-persistent-keepalive": "0s"}
	strict      = and(wireGuard, settings{"enable-encryption-strict-mode": "true", "encryption-strict-mode-cidr": podCIDR})
	l2          = settings{
		"enable-l2-announcements": "true", "l2-announcements-lease-duration": "15s",
		"l2-announcements-renew-deadline": "5s", "l2-announcements-retry-period": "2s",
	}
)

// and merges several of these. The later ones take precedence.
func and(several ...settings) settings {
	all := settings{}
	for _, each := range several {
		maps.Copy(all, each)
	}
	return all
}

var matrix = []row{
	// How packets get from node to node.
	{name: "A1 nothing", config: "{}"},
	{name: "A2 overlay", config: "overlay: {enabled: true}"},
	{name: "A2 overlay takes precedence over tunnel", config: "{overlay: {enabled: true}, tunnel: disabled}"},
	{name: "A3 overlay with Geneve", config: "{overlay: {enabled: true}, tunnel: geneve}", want: settings{"tunnel-protocol": "geneve"}},
	{name: "overlay takes precedence over native routing", config: "{overlay: {enabled: true, createPodRoutes: true}, ipv4NativeRoutingCIDREnabled: true}"},
	{name: "A4 no overlay", config: "overlay: {enabled: false}", want: routed},
	{name: "A4 an empty block", config: "overlay: {}", want: routed},
	{name: "A4 no overlay, whatever the tunnel", config: "{overlay: {enabled: false}, tunnel: geneve}", want: routed},
	{name: "A5 no overlay, Cilium's routes", config: "overlay: {enabled: false, createPodRoutes: true}",
		want: and(routed, settings{"auto-direct-node-routes": "true"})},
	{name: "A6 no tunnel", config: "tunnel: disabled", want: native},
	{name: "A7 no tunnel, native routing", config: "{tunnel: disabled, ipv4NativeRoutingCIDREnabled: true}", want: routed},
	{name: "Geneve", config: "tunnel: geneve", want: settings{"tunnel-protocol": "geneve"}},
	{name: "native routing through a tunnel", config: "ipv4NativeRoutingCIDREnabled: true", want: settings{"ipv4-native-routing-cidr": podCIDR}},
	{name: "MTU", config: "mtu: 1450", want: settings{"mtu": "1450"}},
	{name: "MTU to be found out", config: "mtu: 0"},
	{name: "devices", config: "{devices: [eth0, ens+], directRoutingDevice: eth1}",
		want: settings{"devices": "eth0 ens+", "direct-routing-device": "eth1"}},

	// Masquerading.
	{name: "A8 SNAT to upstream DNS", config: "{overlay: {enabled: false}, snatToUpstreamDNS: {enabled: true}}",
		want: and(routed, settings{"enable-bpf-masquerade": absent})},
	{name: "A9 SNAT out of the cluster", config: "{overlay: {enabled: false}, snatOutOfCluster: {enabled: true}}",
		want: and(routed, settings{"enable-bpf-masquerade": absent})},
	{name: "SNAT in an overlay", config: "{snatToUpstreamDNS: {enabled: true}, snatOutOfCluster: {enabled: true}, enableBPFMasquerade: true}",
		want: settings{"enable-bpf-masquerade": absent}},
	{name: "SNAT that is off", config: "{snatToUpstreamDNS: {}, snatOutOfCluster: {enabled: false}}"},
	{name: "iptables masquerades", config: "enableBPFMasquerade: false", want: settings{"enable-bpf-masquerade": "false"}},
	{name: "nothing is masqueraded", config: "{enableIpv4Masquerade: false, enableBPFMasquerade: false}",
		want: settings{"enable-ipv4-masquerade": "false", "enable-bpf-masquerade": "false"}},
	{name: "IPv6 masquerading is written whatever the families", config: "enableIpv6Masquerade: true", want: settings{"enable-ipv6-masquerade": "true"}},

	// IP families and IPAM.
	{name: "B1 IPv6", options: []option{ipv6Only}, want: ofIPv6Only},
	{name: "B1 IPv6, written families have no effect", options: []option{ipv6Only},
		config: "{ipv4: {enabled: true}, ipv6: {enabled: false}, enableIpv4Masquerade: true, enableBPFMasquerade: true}", want: ofIPv6Only},
	{name: "B2 IPv6, no overlay", config: "overlay: {enabled: false}", options: []option{ipv6Only},
		want: and(ofIPv6Only, native, settings{"ipv6-native-routing-cidr": podCIDR6})},
	{name: "B2 IPv6, no overlay, a range that only the Network has", config: "overlay: {enabled: false}",
		options: []option{ipv6Only, func(f *plugin.Input) { f.PodCIDRs = nil }},
		want:    and(ofIPv6Only, native, settings{"ipv6-native-routing-cidr": podCIDR6})},
	{name: "C1 dual-stack", options: []option{dualStack}, want: ofDualStack},
	{name: "C1 dual-stack, overlay", config: "overlay: {enabled: true}", options: []option{dualStack}, want: ofDualStack},
	{name: "C2 dual-stack, no overlay", config: "overlay: {enabled: false}", options: []option{dualStack},
		want: and(ofDualStack, routed, settings{"ipv6-native-routing-cidr": podCIDR6})},
	{name: "on the way to dual-stack", config: "overlay: {enabled: false}", options: []option{migrating}, want: routed},
	{name: "no families", options: []option{func(f *plugin.Input) { f.IPFamilies = nil }}},
	{name: "cluster-pool", options: []option{withClusterPool}, want: settings{
		"ipam": "cluster-pool", "k8s-require-ipv4-pod-cidr": absent, "ipam-cilium-node-update-rate": "15s",
		"cluster-pool-ipv4-cidr": podCIDR, "cluster-pool-ipv4-mask-size": "24"}},
	{name: "cluster-pool, dual-stack", options: []option{withClusterPool, dualStack}, want: settings{
		"enable-ipv6": "true",
		"ipam":        "cluster-pool", "k8s-require-ipv4-pod-cidr": absent, "ipam-cilium-node-update-rate": "15s",
		"cluster-pool-ipv4-cidr": podCIDR, "cluster-pool-ipv4-mask-size": "24",
		"cluster-pool-ipv6-cidr": "fd00::/104", "cluster-pool-ipv6-mask-size": "120"}},
	{name: "another IPAM", options: []option{func(f *plugin.Input) { f.IPAM = "delegated-plugin" }},
		want: settings{"ipam": "delegated-plugin", "k8s-require-ipv4-pod-cidr": absent}},

	// kube-proxy and Services.
	{name: "no kube-proxy", options: []option{withoutKubeProxy}, want: replacing},
	{name: "no kube-proxy, IPv6", options: []option{withoutKubeProxy, ipv6Only}, want: and(replacing, ofIPv6Only)},
	{name: "kube-proxy with IPVS", options: []option{withIPVS}},
	{name: "an address of the API server without kube-proxy", config: "kubeproxy: {k8sServiceHost: api.example.com, k8sServicePort: 443}",
		options: []option{withoutKubeProxy}, want: replacing},
	{name: "egress gateway", config: "egressGateway: {enabled: true}", options: []option{withoutKubeProxy},
		want: and(replacing, settings{"enable-egress-gateway": "true"})},
	{name: "DSR", config: "{overlay: {enabled: false}, loadBalancingMode: dsr}", options: []option{withoutKubeProxy},
		want: and(replacing, routed, settings{"bpf-lb-mode": "dsr"})},
	{name: "hybrid", config: "loadBalancingMode: hybrid", want: settings{"bpf-lb-mode": "hybrid"}},
	{name: "sockets of nodes only", config: "{bpfSocketLBHostnsOnly: {enabled: true}, cni: {exclusive: false}}",
		options: []option{withoutKubeProxy}, want: and(replacing, settings{"bpf-lb-sock-hostns-only": "true", "cni-exclusive": "false"})},
	{name: "an empty block of CNI", config: "cni: {}", want: settings{"cni-exclusive": "false"}},
	{name: "NodeLocalDNS", options: []option{withNodeLocalDNS}, want: settings{"enable-local-redirect-policy": "true"}},
	{name: "L2 announcements", config: "l2Announcements: {enabled: true}", want: l2},
	{name: "L2 announcements with other leases", config: "l2Announcements: {enabled: true, leaseDuration: 60s, leaseRenewDeadline: 30s, leaseRetryPeriod: 1500ms}",
		want: and(l2, settings{"l2-announcements-lease-duration": "1m0s", "l2-announcements-renew-deadline": "30s", "l2-announcements-retry-period": "1.5s"})},
	{name: "L2 announcements that are off", config: "l2Announcements: {leaseDuration: 60s}"},
	{name: "BGP", config: "bgpControlPlane: {enabled: true}", want: settings{"enable-bgp-control-plane": "true"}},

	// Encryption.
	{name: "WireGuard", config: "encryption: {enabled: true, mode: wireguard}", want: wireGuard},
	{name: "WireGuard between nodes", config: "encryption: {enabled: true, mode: wireguard, nodeToNodeEnabled: true}",
		want: and(wireGuard, settings{"encrypt-node": "true"})},
	{name: "strict, through a tunnel", config: "encryption: {enabled: true, mode: wireguard, strictMode: true}",
		want: and(strict, settings{"encryption-strict-mode-allow-remote-node-identities": "true"})},
	{name: "strict, no overlay", config: "{overlay: {enabled: false}, encryption: {enabled: true, mode: wireguard, strictMode: true}}",
		want: and(strict, routed, settings{"encryption-strict-mode-allow-remote-node-identities": "false"})},
	{name: "strict, no overlay, no range of nodes", config: "{overlay: {enabled: false}, encryption: {enabled: true, mode: wireguard, strictMode: true}}",
		options: []option{func(f *plugin.Input) { f.NodeCIDR = "" }},
		want:    and(strict, routed, settings{"encryption-strict-mode-allow-remote-node-identities": "false"})},
	{name: "strict, no tunnel", config: "{tunnel: disabled, encryption: {enabled: true, mode: wireguard, strictMode: true}}",
		want: and(strict, native, settings{"encryption-strict-mode-allow-remote-node-identities": "false"})},
	{name: "encryption without a mode", config: "encryption: {enabled: true, nodeToNodeEnabled: true}", want: settings{"encrypt-node": "true"}},
	{name: "encryption with no such mode", config: "encryption: {enabled: true, mode: WireGuard}"},
	{name: "encryption that is off", config: "encryption: {mode: ipsec, nodeToNodeEnabled: true, strictMode: true}"},

	// The rest.
	{name: "debug", config: "debug: true", want: settings{"debug": "true"}},
	{name: "policies only observed", config: "policyAuditMode: true", want: settings{"policy-audit-mode": "true"}},
	{name: "policies enforced", config: "policyAuditMode: false"},
	{name: "store", config: "store: kubernetes"},
	{name: "Hubble", config: "hubble: {enabled: true}", want: settings{
		"enable-hubble": "true", "hubble-socket-path": "/var/run/cilium/hubble.sock", "hubble-listen-address": ":4244",
		"hubble-metrics-server": ":9091", "hubble-metrics-server-enable-tls": "false",
		"hubble-metrics": "dns drop tcp flow port-distribution icmp httpV2:labelsContext=source_ip,source_namespace,source_workload," +
			"destination_ip,destination_namespace,destination_workload,traffic_direction"}},
	{name: "nothing that depends on the number of nodes", options: []option{withNodes(2)}},
}

func TestWhatAgentsAndOperatorAreTold(t *testing.T) {
	defaults := settingsOf(t, defaultSettings)
	for _, each := range matrix {
		t.Run(each.name, func(t *testing.T) {
			want := maps.Clone(defaults)
			for name, value := range each.want {
				if want[name] = value; value == absent {
					delete(want, name)
				}
			}
			NewWithT(t).Expect(build(t, each.config, each.options...).data("cilium-config")).To(Equal(map[string]string(want)))
		})
	}
}

// A network with nodes in the pods' own range lets what goes to nodes themselves through.
func TestStrictEncryptionWithNodesInThePodsRange(t *testing.T) {
	g := NewWithT(t)
	const config = "{overlay: {enabled: false}, encryption: {enabled: true, mode: wireguard, strictMode: true}}"
	n := build(t, config, func(f *plugin.Input) { f.NodeCIDR = "100.64.8.0/24" })
	g.Expect(n.Warnings).To(ContainElement(HaveField("Field", "shoot.spec.networking.nodes")))
	g.Expect(n.data("cilium-config")).To(HaveKeyWithValue("encryption-strict-mode-allow-remote-node-identities", "true"))
}

func TestLabelsThatDoNotCount(t *testing.T) {
	g := NewWithT(t)
	var document struct {
		Version  int `json:"version"`
		Prefixes []struct {
			Prefix string `json:"prefix"`
			Source string `json:"source"`
			Invert bool   `json:"invert"`
		} `json:"valid-prefixes"`
	}
	data := build(t, "").data("label-prefix-conf")
	g.Expect(data).To(HaveLen(1))
	decode(t, data["label-prefix"], &document)
	g.Expect(document.Version).To(Equal(1))
	var prefixes []string
	for _, each := range document.Prefixes {
		g.Expect(each.Source).To(Equal("any"))
		g.Expect(each.Invert).To(BeTrue())
		prefixes = append(prefixes, each.Prefix)
	}
	g.Expect(prefixes).To(Equal([]string{
		"io.kubernetes", "kubernetes.io", "apps.kubernetes.io/pod-index", "batch.kubernetes.io/job-completion-index",
		"batch.kubernetes.io/controller-uid", "beta.kubernetes.io", "k8s.io", "pod-template-generation", "pod-template-hash",
		"controller-revision-hash", "annotation.*", "controller-uid", "etcd_node",
	}))
}
