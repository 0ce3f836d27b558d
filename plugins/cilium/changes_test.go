// SPDX-License-Identifier: Apache-2.0

package cilium_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/plugins/cilium"
	"github.com/trellis-network/trellis/plugins/cilium/v1alpha1"
)

// paths are those of all values of NetworkConfig, in JSON spelling.
func paths() []string { return pathsOf(reflect.TypeFor[v1alpha1.NetworkConfig](), "") }

func pathsOf(t reflect.Type, prefix string) []string {
	var list []string
	for i := range t.NumField() {
		field := t.Field(i)
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		inner := field.Type
		if inner.Kind() == reflect.Pointer {
			inner = inner.Elem()
		}
		switch {
		case field.Anonymous:
		case inner.Kind() == reflect.Struct && inner != reflect.TypeFor[metav1.Duration]():
			list = append(list, pathsOf(inner, prefix+name+".")...)
		default:
			list = append(list, prefix+name)
		}
	}
	return list
}

func TestEveryValueSaysWhatItsChangeMeans(t *testing.T) {
	p := cilium.New()
	classes := map[plugin.ChangeClass]bool{plugin.Safe: true, plugin.Rolling: true, plugin.Disruptive: true, plugin.Forbidden: true}
	for _, path := range paths() {
		t.Run(path, func(t *testing.T) {
			g := NewWithT(t)
			class, reason := p.Classify(path, &v1alpha1.NetworkConfig{}, &v1alpha1.NetworkConfig{})
			g.Expect(classes).To(HaveKey(class))
			g.Expect(reason).NotTo(BeEmpty())
			g.Expect(reason).NotTo(HaveSuffix("."))
		})
	}
	class, _ := p.Classify("noSuchField", &v1alpha1.NetworkConfig{}, &v1alpha1.NetworkConfig{})
	NewWithT(t).Expect(class).To(BeEmpty())
}

// Tests draw configs from a list of their own, which must not lack a field.
func TestTestsKnowEveryField(t *testing.T) {
	NewWithT(t).Expect(sorted(values)).To(ConsistOf(paths()))
}

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
		{"", on, "overlay.enabled", plugin.Rolling}, // VXLAN either way
		{"", on, "overlay.createPodRoutes", plugin.Safe},
		{on, off, "overlay.enabled", plugin.Disruptive},
		{off, "", "overlay.enabled", plugin.Disruptive},
		{"", "tunnel: geneve", "tunnel", plugin.Disruptive},
		{off, "{tunnel: disabled, ipv4NativeRoutingCIDREnabled: true}", "overlay.enabled", plugin.Rolling},
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
		{"", "loadBalancingMode: hybrid", "loadBalancingMode", plugin.Disruptive},
		{"", "l2Announcements: {enabled: true}", "l2Announcements.enabled", plugin.Rolling},
		{"", "l2Announcements: {enabled: true}", "l2Announcements.leaseDuration", plugin.Rolling},
		{"l2Announcements: {enabled: true}", "", "l2Announcements.enabled", plugin.Disruptive},
		{"", "bgpControlPlane: {enabled: true}", "bgpControlPlane.enabled", plugin.Rolling},
		{"bgpControlPlane: {enabled: true}", "", "bgpControlPlane.enabled", plugin.Disruptive},
		{"", "policyAuditMode: true", "policyAuditMode", plugin.Rolling},
		{"policyAuditMode: true", "", "policyAuditMode", plugin.Disruptive},
		{"", wireGuard, "encryption.enabled", plugin.Rolling},
		{wireGuard, strict, "encryption.strictMode", plugin.Disruptive},
		{strict, wireGuard, "encryption.strictMode", plugin.Rolling},
		{"", "encryption: {enabled: true}", "encryption.enabled", plugin.Rolling},
	} {
		t.Run(fmt.Sprintf("%s from %s to %s", test.path, test.before, test.after), func(t *testing.T) {
			g := NewWithT(t)
			n := changed(t, test.before, test.after)
			g.Expect(n.Errors).To(BeEmpty())
			g.Expect(classesOf(n)).To(HaveKeyWithValue(test.path, test.want))
		})
	}
}

func TestWhatChangesMeanWithoutKubeProxy(t *testing.T) {
	const gateway, server = "egressGateway: {enabled: true}", "kubeproxy: {k8sServiceHost: api.example.com, k8sServicePort: 443}"
	for _, test := range []struct {
		before, after string
		path          string
		want          plugin.ChangeClass
	}{
		{"", gateway, "egressGateway.enabled", plugin.Rolling},
		{gateway, "", "egressGateway.enabled", plugin.Disruptive},
		{"", server, "kubeproxy.k8sServiceHost", plugin.Safe},
		{server, "", "kubeproxy.k8sServicePort", plugin.Safe},
	} {
		t.Run(fmt.Sprintf("%s from %s to %s", test.path, test.before, test.after), func(t *testing.T) {
			NewWithT(t).Expect(classesOf(changed(t, test.before, test.after, withoutKubeProxy))).To(HaveKeyWithValue(test.path, test.want))
		})
	}
}

func TestAFamilyMayComeAndNotGo(t *testing.T) {
	for _, test := range []struct {
		name          string
		before, after option
		path          string
		want          plugin.ChangeClass
	}{
		{"IPv6 comes", migrating, dualStack, "ipv6.enabled", plugin.Rolling},
		{"IPv6 goes", dualStack, nil, "ipv6.enabled", plugin.Forbidden},
		{"IPv4 goes", dualStack, ipv6Only, "ipv4.enabled", plugin.Forbidden},
		{"IPv4 comes", ipv6Only, dualStack, "ipv4.enabled", plugin.Forbidden},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			request := requestFor(t, "", optionsOf(test.after)...)
			request.Applied = build(t, "", optionsOf(test.before)...).Applied()
			n := tryRequest(t, request)
			g.Expect(classesOf(n)).To(HaveKeyWithValue(test.path, test.want))
			g.Expect(len(n.Errors) > 0).To(Equal(test.want == plugin.Forbidden))
		})
	}
}

func optionsOf(change option) []option {
	if change == nil {
		return nil
	}
	return []option{change}
}

func classesOf(n *network) map[string]plugin.ChangeClass {
	classes := map[string]plugin.ChangeClass{}
	for _, change := range n.Changes {
		classes[change.Path] = change.Class
	}
	return classes
}

// changed builds a network for after where before was applied last.
func changed(t *testing.T, before, after string, options ...option) *network {
	t.Helper()
	applied := build(t, before, options...).Applied()
	request := requestFor(t, after, options...)
	request.Applied = applied
	return tryRequest(t, request)
}

func TestNothingChangesByItself(t *testing.T) {
	for _, each := range matrix {
		t.Run(each.name, func(t *testing.T) {
			g := NewWithT(t)
			n := changed(t, each.config, each.config, each.options...)
			g.Expect(n.Errors).To(BeEmpty())
			g.Expect(n.Changes).To(BeEmpty())
		})
	}
}
