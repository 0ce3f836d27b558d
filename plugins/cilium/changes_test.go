// SPDX-License-Identifier: Apache-2.0

package cilium_test

import (
	"fmt"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/test/built"
)

func TestWhatChangesMeanForARunningNetwork(t *testing.T) {
	const (
		on, off   = "overlay: {enabled: true}", "overlay: {enabled: false}"
		own       = "overlay: {enabled: false, createPodRoutes: true}"
		wireGuard = "encryption: {enabled: true, mode: wireguard}"
		strict    = "encryption: {enabled: true, mode: wireguard, strictMode: true}"
	)
	for _, test := range []struct {
		before, after string
		path          string
		want          plugin.ChangeClass
	}{
		{"", "debug: true", "debug", plugin.Rolling},
		{"", "hubble: {enabled: true}", "hubble.enabled", plugin.Rolling},
		{"", "store: kubernetes", "store", plugin.Safe},
		{"", "mtu: 1400", "mtu", plugin.Rolling},
		{"", off, "overlay.enabled", plugin.Disruptive},
		{"", off, "tunnel", plugin.Disruptive},
		{"", off, "ipv4NativeRoutingCIDREnabled", plugin.Disruptive},
		{"", on, "overlay.enabled", plugin.Safe}, // VXLAN either way
		{"", on, "overlay.createPodRoutes", plugin.Safe},
		{on, off, "overlay.enabled", plugin.Disruptive},
		{off, "", "overlay.enabled", plugin.Disruptive},
		{"", "tunnel: geneve", "tunnel", plugin.Disruptive},
		{off, "{tunnel: disabled, ipv4NativeRoutingCIDREnabled: true}", "overlay.enabled", plugin.Safe},
		{"{" + off + ", " + strict + "}", "{tunnel: disabled, ipv4NativeRoutingCIDREnabled: true, " + strict + "}", "overlay.enabled", plugin.Rolling},
		{off, "tunnel: disabled", "ipv4NativeRoutingCIDREnabled", plugin.Disruptive},
		{"", "ipv4NativeRoutingCIDREnabled: true", "ipv4NativeRoutingCIDREnabled", plugin.Rolling},
		{off, own, "overlay.createPodRoutes", plugin.Disruptive},
		{own, off, "overlay.createPodRoutes", plugin.Disruptive},
		{"", "snatToUpstreamDNS: {enabled: true}", "snatToUpstreamDNS.enabled", plugin.Disruptive},
		{"", "snatToUpstreamDNS: {enabled: true}", "enableBPFMasquerade", plugin.Disruptive},
		{"snatOutOfCluster: {enabled: true}", "{snatToUpstreamDNS: {enabled: true}, snatOutOfCluster: {enabled: true}}",
			"snatToUpstreamDNS.enabled", plugin.Rolling}, // iptables either way
		{"enableIpv4Masquerade: false", "{enableIpv4Masquerade: false, enableBPFMasquerade: false}", "enableBPFMasquerade", plugin.Rolling},
		{"", "enableIpv4Masquerade: false", "enableIpv4Masquerade", plugin.Disruptive},
		{"enableIpv4Masquerade: false", "", "enableIpv4Masquerade", plugin.Disruptive},
		{"", "enableIpv6Masquerade: true", "enableIpv6Masquerade", plugin.Rolling}, // no IPv6
		{"", "devices: [eth0]", "devices", plugin.Disruptive},
		{"devices: [eth0]", "devices: [eth0, eth1]", "devices", plugin.Rolling},
		{"devices: [eth0, eth1]", "devices: [eth0]", "devices", plugin.Disruptive},
		{"devices: [eth0]", "", "devices", plugin.Rolling},
		{"devices: [eth0, eth+]", "devices: [e+]", "devices", plugin.Rolling},
		{"devices: [eth+]", "devices: [eth0]", "devices", plugin.Disruptive},
		{"", "loadBalancingMode: hybrid", "loadBalancingMode", plugin.Rolling}, // kube-proxy implements Services
		{"", "l2Announcements: {enabled: true}", "l2Announcements.enabled", plugin.Rolling},
		{"", "l2Announcements: {enabled: true}", "l2Announcements.leaseDuration", plugin.Rolling},
		{"l2Announcements: {enabled: true}", "", "l2Announcements.enabled", plugin.Rolling}, // nothing was announced
		{"", "bgpControlPlane: {enabled: true}", "bgpControlPlane.enabled", plugin.Rolling},
		{"bgpControlPlane: {enabled: true}", "", "bgpControlPlane.enabled", plugin.Disruptive},
		{"", "policyAuditMode: true", "policyAuditMode", plugin.Rolling},
		{"policyAuditMode: true", "", "policyAuditMode", plugin.Disruptive},
		{"", wireGuard, "encryption.enabled", plugin.Rolling},
		{wireGuard, strict, "encryption.strictMode", plugin.Disruptive},
		{strict, wireGuard, "encryption.strictMode", plugin.Rolling},
		{strict, "", "encryption.enabled", plugin.Disruptive},
		{"", "encryption: {enabled: true}", "encryption.enabled", plugin.Safe},
	} {
		t.Run(fmt.Sprintf("%s from %s to %s", test.path, test.before, test.after), func(t *testing.T) {
			g := NewWithT(t)
			n := changed(t, test.before, test.after)
			g.Expect(n.Errors).To(BeEmpty())
			g.Expect(n.Classes()).To(HaveKeyWithValue(test.path, test.want))
		})
	}
}

func TestWhatChangesMeanWithoutKubeProxy(t *testing.T) {
	const (
		gateway = "egressGateway: {enabled: true}"
		server  = "kubeproxy: {k8sServiceHost: api.example.com, k8sServicePort: 443}"
		hybrid  = "{overlay: {enabled: false}, loadBalancingMode: hybrid}"
	)
	for _, test := range []struct {
		before, after string
		path          string
		want          plugin.ChangeClass
	}{
		{"", gateway, "egressGateway.enabled", plugin.Rolling},
		{gateway, "", "egressGateway.enabled", plugin.Disruptive},
		{"", server, "kubeproxy.k8sServiceHost", plugin.Safe},
		{server, "", "kubeproxy.k8sServicePort", plugin.Safe},
		{"overlay: {enabled: false}", hybrid, "loadBalancingMode", plugin.Disruptive},
		{"", "l2Announcements: {enabled: true}", "l2Announcements.enabled", plugin.Rolling},
		{"l2Announcements: {enabled: true}", "", "l2Announcements.enabled", plugin.Disruptive},
	} {
		t.Run(fmt.Sprintf("%s from %s to %s", test.path, test.before, test.after), func(t *testing.T) {
			NewWithT(t).Expect(changed(t, test.before, test.after, withoutKubeProxy).Classes()).To(HaveKeyWithValue(test.path, test.want))
		})
	}
}

// Agents are told nothing of a value that only becomes explicit.
func TestAValueThatBecomesExplicitChangesNoObject(t *testing.T) {
	for _, test := range [][2]string{
		{"", "overlay: {enabled: true}"},
		{"{tunnel: disabled, ipv4NativeRoutingCIDREnabled: true}", "overlay: {enabled: false}"},
		{"", "encryption: {enabled: true}"},
	} {
		t.Run(test[1], func(t *testing.T) {
			g := NewWithT(t)
			before, after := build(t, test[0]), changed(t, test[0], test[1])
			g.Expect(after.Classes()).To(HaveEach(plugin.Safe))
			g.Expect(built.Documents(t, after.Objects.In(bundleName))).To(Equal(built.Documents(t, before.Objects.In(bundleName))))
		})
	}
}

// Nodes announce nothing where kube-proxy runs. A network whose facts were not recorded
// counts as one whose facts stay the same.
func TestWhatHasNoEffectInterruptsNothing(t *testing.T) {
	const announced, path = "l2Announcements: {enabled: true}", "l2Announcements.enabled"
	for _, test := range []struct {
		name          string
		before, after option
		forgotten     bool
		want          plugin.ChangeClass
	}{
		{"kube-proxy stays", nil, nil, false, plugin.Rolling},
		{"kube-proxy comes", withoutKubeProxy, nil, false, plugin.Disruptive},
		{"kube-proxy goes, before nodes announced anything", nil, withoutKubeProxy, false, plugin.Rolling},
		{"kube-proxy runs", nil, nil, true, plugin.Rolling},
		{"kube-proxy does not run", withoutKubeProxy, withoutKubeProxy, true, plugin.Disruptive},
	} {
		t.Run(test.name, func(t *testing.T) {
			request := requestFor(t, "", test.after)
			request.Applied = build(t, announced, test.before).Applied()
			if test.forgotten {
				request.Applied.Accepted = nil
			}
			NewWithT(t).Expect(tryRequest(t, request).Classes()).To(HaveKeyWithValue(path, test.want))
		})
	}
}

// The pipeline decides which families may follow which.
func TestWhatFamiliesThatComeAndGoMean(t *testing.T) {
	for _, test := range []struct {
		name          string
		before, after option
		path          string
		want          plugin.ChangeClass
	}{
		{"IPv6 comes", migrating, dualStack, "ipv6.enabled", plugin.Rolling},
		{"IPv6 goes", dualStack, nil, "ipv6.enabled", plugin.Disruptive},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			n := then(build(t, "", test.before), "", test.after)
			g.Expect(n.Errors).To(BeEmpty())
			g.Expect(n.Classes()).To(HaveKeyWithValue(test.path, test.want))
		})
	}
}

// A node that is late takes IPv6 from no pod.
func TestBothFamiliesStayWhileANodeIsNotReady(t *testing.T) {
	g := NewWithT(t)
	n := then(build(t, "", dualStack), "", migrating)
	g.Expect(n.Errors).To(BeEmpty())
	g.Expect(n.data("cilium-config")).To(HaveKeyWithValue("enable-ipv6", "true"))
}
