// SPDX-License-Identifier: Apache-2.0

package cilium_test

import (
	"testing"

	"github.com/trellis-network/trellis/plugin"
)

func TestUsersAreToldWhatTheyWouldNotExpect(t *testing.T) {
	const off = "overlay: {enabled: false}"
	for _, test := range []struct {
		name, config string
		options      []option
		want         map[string]string // the warnings' paths, and part of their messages
	}{
		{name: "nothing to tell of a default network"},
		{name: "nothing to tell of an overlay", config: "overlay: {enabled: true}"},
		{name: "nothing to tell without overlay", config: off},
		{name: "nothing to tell without kube-proxy", options: []option{withoutKubeProxy}},
		{name: "nothing to tell of both families", config: off, options: []option{dualStack}},
		{name: "nothing to tell of an egress gateway", config: "egressGateway: {enabled: true}", options: []option{withoutKubeProxy}},

		// What something else takes precedence over.
		{name: "overlay before tunnel", config: "{overlay: {enabled: true}, tunnel: disabled}",
			want: map[string]string{"tunnel": "disabled is not in force, vxlan is: overlay.enabled is true"}},
		{name: "no overlay before tunnel", config: "{overlay: {enabled: false}, tunnel: geneve}",
			want: map[string]string{"tunnel": "geneve is not in force, disabled is: overlay.enabled is false"}},
		{name: "overlay before native routing", config: "{overlay: {enabled: true}, ipv4NativeRoutingCIDREnabled: true}",
			want: map[string]string{"ipv4NativeRoutingCIDREnabled": "true is not in force, false is: overlay.enabled is true"}},
		{name: "routes in an overlay", config: "overlay: {enabled: true, createPodRoutes: true}",
			want: map[string]string{"overlay.createPodRoutes": "true is not in force, false is"}},
		{name: "families", config: "{ipv4: {enabled: false}, ipv6: {enabled: true}}", want: map[string]string{
			"ipv4.enabled": "the network's IP families decide", "ipv6.enabled": "the network's IP families decide"}},
		{name: "an API server with kube-proxy", config: "kubeproxy: {k8sServiceHost: api.example.com, k8sServicePort: 443}", want: map[string]string{
			"kubeproxy.k8sServiceHost": "api.example.com has no effect: kube-proxy runs",
			"kubeproxy.k8sServicePort": "443 has no effect: kube-proxy runs"}},
		{name: "half an API server", config: "kubeproxy: {k8sServiceHost: api.example.com}", options: []option{withoutKubeProxy},
			want: map[string]string{"kubeproxy.k8sServiceHost": "only count together"}},
		{name: "SNAT before eBPF", config: "{snatOutOfCluster: {enabled: true}, enableBPFMasquerade: true}",
			want: map[string]string{"enableBPFMasquerade": "it is iptables that masquerades"}},
		{name: "leases without announcements", config: "l2Announcements: {leaseDuration: 60s}",
			want: map[string]string{"l2Announcements.leaseDuration": "1m0s has no effect: l2Announcements.enabled is false"}},
		{name: "encryption that is off", config: "encryption: {mode: wireguard, strictMode: true}", want: map[string]string{
			"encryption.mode": "wireguard has no effect: encryption.enabled is false", "encryption.strictMode": "encryption.enabled is false"}},
		{name: "IPv4 in a network of IPv6", config: "{enableIpv4Masquerade: true, ipv4NativeRoutingCIDREnabled: true}", options: []option{ipv6Only},
			want: map[string]string{"enableIpv4Masquerade": "the network has no IPv4", "ipv4NativeRoutingCIDREnabled": "the network has no IPv4"}},

		// What is in force and does not do what users expect.
		{name: "A6", config: "tunnel: disabled", want: map[string]string{"tunnel": "agents do not start"}},
		{name: "A7", config: "{tunnel: disabled, ipv4NativeRoutingCIDREnabled: true}"},
		{name: "masquerading of IPv6 without its range", config: "{tunnel: disabled, ipv4NativeRoutingCIDREnabled: true, enableIpv6Masquerade: true}",
			options: []option{dualStack}, want: map[string]string{"enableIpv6Masquerade": "agents do not start"}},
		{name: "native routing through a tunnel", config: "{ipv4NativeRoutingCIDREnabled: true, ipv6NativeRoutingCIDREnabled: true}", options: []option{dualStack},
			want: map[string]string{"ipv4NativeRoutingCIDREnabled": "are still encapsulated", "ipv6NativeRoutingCIDREnabled": "are still encapsulated"}},
		{name: "native routing of a family to come", config: "ipv6NativeRoutingCIDREnabled: true", options: []option{migrating, func(f *plugin.Input) { f.PodCIDRs = []string{podCIDR, podCIDR6} }},
			want: map[string]string{"ipv6NativeRoutingCIDREnabled": "no effect as long as the network has no IPv6"}},
		{name: "a network that others may use, too", config: off, options: []option{func(f *plugin.Input) { f.Infrastructure.OwnNetwork = false }},
			want: map[string]string{"overlay.enabled": "must not overlap"}},
		{name: "packets too small for IPv4", config: "mtu: 600", want: map[string]string{"mtu": "leaves pods less than"}},
		{name: "packets too small for IPv6 in a tunnel", config: "mtu: 1329", options: []option{dualStack}, want: map[string]string{"mtu": "leaves pods less than"}},
		{name: "packets too small for IPv6 when encrypted", config: "{mtu: 1400, encryption: {enabled: true, mode: wireguard}}", options: []option{dualStack},
			want: map[string]string{"mtu": "leaves pods less than"}},
		{name: "packets just large enough", config: "mtu: 1330", options: []option{dualStack}},
		{name: "small packets without overlay", config: "{mtu: 576, overlay: {enabled: false}}"},
		{name: "cluster-pool without overlay", config: off, options: []option{withClusterPool},
			want: map[string]string{"overlay.enabled": "routes that a cloud makes lead elsewhere"}},
		{name: "cluster-pool with Cilium's routes", config: "overlay: {enabled: false, createPodRoutes: true}", options: []option{withClusterPool}},
		{name: "nothing to masquerade", config: "enableIpv4Masquerade: false", want: map[string]string{"enableBPFMasquerade": "write false as well"}},
		{name: "SNAT without IPv4", config: "{snatToUpstreamDNS: {enabled: true}, snatOutOfCluster: {enabled: true}}", options: []option{ipv6Only},
			want: map[string]string{"snatToUpstreamDNS.enabled": "its rules are for IPv4", "snatOutOfCluster.enabled": "its rules are for IPv4"}},
		{name: "masquerading of no IPv6", config: "enableIpv6Masquerade: true", want: map[string]string{"enableIpv6Masquerade": "no effect"}},
		{name: "hybrid with kube-proxy", config: "loadBalancingMode: hybrid", want: map[string]string{"loadBalancingMode": "kube-proxy passes on"}},
		{name: "hybrid through a tunnel", config: "loadBalancingMode: hybrid", options: []option{withoutKubeProxy},
			want: map[string]string{"loadBalancingMode": "agents do not start"}},
		{name: "hybrid without overlay", config: "{loadBalancingMode: hybrid, overlay: {enabled: false}}", options: []option{withoutKubeProxy}},
		{name: "sockets with kube-proxy", config: "bpfSocketLBHostnsOnly: {enabled: true}", want: map[string]string{"bpfSocketLBHostnsOnly.enabled": "no effect"}},
		{name: "L2 announcements with kube-proxy", config: "l2Announcements: {enabled: true}", want: map[string]string{"l2Announcements.enabled": "nodes announce nothing"}},
		{name: "L2 announcements", config: "l2Announcements: {enabled: true}", options: []option{withoutKubeProxy}},
		{name: "leases that do not fit", config: "l2Announcements: {enabled: true, leaseDuration: 5s, leaseRetryPeriod: 5s}", options: []option{withoutKubeProxy},
			want: map[string]string{"l2Announcements.leaseDuration": "must be longer than leaseRenewDeadline", "l2Announcements.leaseRenewDeadline": "longer than 1.2 times"}},
		{name: "leases of no time", config: "l2Announcements: {enabled: true, leaseRetryPeriod: 0s}", options: []option{withoutKubeProxy},
			want: map[string]string{"l2Announcements.leaseRetryPeriod": "more than zero"}},
		{name: "encryption without a mode", config: "encryption: {enabled: true}", want: map[string]string{"encryption.mode": "nothing is encrypted without a mode"}},
		{name: "encryption with no such mode", config: "encryption: {enabled: true, mode: WireGuard}", want: map[string]string{"encryption.mode": "there is no such mode"}},
		{name: "strict with both families", config: "encryption: {enabled: true, mode: wireguard, strictMode: true}", options: []option{dualStack},
			want: map[string]string{"encryption.strictMode": "strict mode is for IPv4"}},
		{name: "strict without IPv4", config: "encryption: {enabled: true, mode: wireguard, strictMode: true}", options: []option{ipv6Only},
			want: map[string]string{"encryption.strictMode": "agents do not start"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			build(t, test.config, test.options...).ExpectWarnings(test.want)
		})
	}
}
