// SPDX-License-Identifier: Apache-2.0

package cilium_test

import (
	"testing"

	. "github.com/onsi/gomega"

	"github.com/trellis-network/trellis/plugin"
)

// What changes with the Shoot and not with the config.
func TestWhatChangesOfTheClusterMean(t *testing.T) {
	at := func(host string) option {
		return func(f *plugin.Input) { withoutKubeProxy(f); f.APIServer.ExternalHost = host }
	}
	range6 := func(cidr string) option {
		return func(f *plugin.Input) { dualStack(f); f.PodCIDRs = []string{podCIDR, cidr} }
	}
	nodes := func(cidr string) option { return func(f *plugin.Input) { f.NodeCIDR = cidr } }
	type classes = map[string]plugin.ChangeClass
	for _, test := range []struct {
		name, config  string
		before, after option
		want          classes
	}{
		{"kube-proxy goes", "", nil, withoutKubeProxy, classes{"spec.kubernetes.kubeProxy.enabled": plugin.Disruptive, "status.advertisedAddresses": plugin.Safe}},
		{"kube-proxy comes", "", at("a.example.com"), func(f *plugin.Input) { f.APIServer.ExternalHost = "a.example.com" },
			classes{"spec.kubernetes.kubeProxy.enabled": plugin.Disruptive}},
		{"IPVS, which only kube-proxy uses", "", nil, withIPVS, classes{}},
		{"a DNS cache", "", nil, func(f *plugin.Input) { withNodeLocalDNS(f); f.Planned = true }, classes{"spec.systemComponents.nodeLocalDNS.enabled": plugin.Rolling}},
		{"another address", "", at("a.example.com"), at("b.example.com"), classes{"status.advertisedAddresses": plugin.Safe}},
		{"another address that is not used", "kubeproxy: {k8sServiceHost: c.example.com, k8sServicePort: 443}", at("a.example.com"), at("b.example.com"), classes{}},
		{"another IPv6 range, routed", "overlay: {enabled: false}", range6("2001:db8:1::/56"), range6("2001:db8:9::/56"), classes{"status.networking.pods": plugin.Rolling}},
		{"the nodes' range, where what leaves the cluster is masqueraded", "snatOutOfCluster: {enabled: true}", nodes(""), nodes("10.250.0.0/16"), classes{"spec.networking.nodes": plugin.Rolling}},
		{"the nodes' range, which tells nodes from pods", "{overlay: {enabled: false}, encryption: {enabled: true, mode: wireguard, strictMode: true}}", nodes("10.250.0.0/16"), nodes(podCIDR), classes{"spec.networking.nodes": plugin.Rolling}},
		{"the nodes' range, which is not used", "", nodes(""), nodes("10.250.0.0/16"), classes{}},
		{"another IPv6 range, in a tunnel", "", range6("2001:db8:1::/56"), range6("2001:db8:9::/56"), classes{}},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			n := then(build(t, test.config, test.before), test.config, test.after)
			g.Expect(n.Errors).To(BeEmpty())
			g.Expect(n.Classes()).To(Equal(test.want))
		})
	}
}
