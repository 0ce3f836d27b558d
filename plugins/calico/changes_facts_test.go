// SPDX-License-Identifier: Apache-2.0

package calico_test

import (
	"testing"

	. "github.com/onsi/gomega"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	"github.com/trellis-network/trellis/plugin"
)

// What changes with the Shoot and not with the config.
func TestWhatChangesOfTheClusterMean(t *testing.T) {
	const ebpf, noOverlay = "ebpfDataplane: {enabled: true}", "overlay: {enabled: false}"
	nodes := []string{"10.250.0.0/16"}
	proxy := func(enabled bool, mode corev1beta1.ProxyMode) option {
		return func(f *plugin.Input) { f.KubeProxy = plugin.KubeProxy{Enabled: enabled, Mode: mode} }
	}
	otherRange := func(f *plugin.Input) { dualStack(f); f.PodCIDRs = []string{podCIDR, "2001:db8:9::/56"} }
	type classes = map[string]plugin.ChangeClass
	for _, test := range []struct {
		name, config  string
		before, after option
		want          classes
	}{
		{"kube-proxy goes, with eBPF", ebpf, proxy(true, ""), proxy(false, ""), classes{"spec.kubernetes.kubeProxy.enabled": plugin.Rolling}},
		{"kube-proxy comes, with eBPF", ebpf, proxy(false, ""), proxy(true, ""), classes{"spec.kubernetes.kubeProxy.enabled": plugin.Rolling}},
		{"nftables", "", proxy(true, ""), proxy(true, "NFTables"), classes{"spec.kubernetes.kubeProxy.mode": plugin.Disruptive}},
		{"nftables no more", "", proxy(true, "NFTables"), proxy(true, "IPTables"), classes{"spec.kubernetes.kubeProxy.mode": plugin.Disruptive}},
		{"IPVS, which Felix finds by itself", "", proxy(true, ""), proxy(true, "IPVS"), classes{}},
		{"another IPv6 range", "", dualStack, otherRange, classes{"status.networking.pods": plugin.Rolling}},
		{"a range that was written already", "", proxy(true, ""), func(f *plugin.Input) { f.PodCIDRs = []string{podCIDR} }, classes{}},
		{"other nodes, without overlay", noOverlay, withNodes("10.250.0.0/16", nodes), withNodes("10.0.0.0/8", nodes), classes{"spec.networking.nodes": plugin.Safe}},
		{"nodes that are not known", noOverlay, withNodes("", nodes), withNodes("10.250.0.0/16", nodes),
			classes{"spec.networking.nodes": plugin.Safe, "ipv4.autoDetectionMethod": plugin.Rolling}},
		{"other nodes, with an overlay", "overlay: {enabled: true}", withNodes("10.250.0.0/16", nodes), withNodes("10.0.0.0/8", nodes), classes{}},
		{"a DNS cache", "", proxy(true, ""), func(f *plugin.Input) { f.NodeLocalDNS = true }, classes{}},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			n := then(build(t, test.config, test.before), test.config, test.after)
			g.Expect(n.Errors).To(BeEmpty())
			g.Expect(n.Classes()).To(Equal(test.want))
		})
	}
}

// Without eBPF before, it is another who passes on packets to Services.
func TestEBPFInPlaceOfKubeProxyIsDisruptive(t *testing.T) {
	g := NewWithT(t)
	n := then(build(t, ""), "ebpfDataplane: {enabled: true}", func(f *plugin.Input) { f.KubeProxy.Enabled = false })
	g.Expect(n.Classes()).To(Equal(map[string]plugin.ChangeClass{
		"ebpfDataplane.enabled": plugin.Disruptive, "spec.kubernetes.kubeProxy.enabled": plugin.Disruptive}))
}
