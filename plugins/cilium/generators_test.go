// SPDX-License-Identifier: Apache-2.0

package cilium_test

import (
	"encoding/json"

	"k8s.io/apimachinery/pkg/runtime"
	"pgregory.net/rapid"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/pipeline"
	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/plugins/cilium"
)

// values are those that fields are drawn from, by dotted path. Most are valid.
var values = map[string][]any{
	"debug":                              {true, false},
	"kubeproxy.k8sServiceHost":           {"api.example.com", "192.0.2.1", "2001:db8::1"},
	"kubeproxy.k8sServicePort":           {443, 65535},
	"hubble.enabled":                     {true, false},
	"tunnel":                             {"vxlan", "geneve", "disabled"},
	"store":                              {"kubernetes"},
	"ipv4.enabled":                       {true, false},
	"ipv6.enabled":                       {true, false},
	"bpfSocketLBHostnsOnly.enabled":      {true, false},
	"cni.exclusive":                      {true, false},
	"egressGateway.enabled":              {true, false},
	"mtu":                                {0, 1450},
	"devices":                            {[]any{}, []any{"eth0"}, []any{"eth0", "ens+"}},
	"directRoutingDevice":                {"eth0"},
	"loadBalancingMode":                  {"snat", "snat", "dsr", "hybrid"},
	"l2Announcements.enabled":            {true, false},
	"l2Announcements.leaseDuration":      {"15s", "60s"},
	"l2Announcements.leaseRenewDeadline": {"5s", "1h1m"},
	"l2Announcements.leaseRetryPeriod":   {"0s", "-2s"},
	"ipv4NativeRoutingCIDREnabled":       {true, false},
	"ipv6NativeRoutingCIDREnabled":       {true, false, false},
	"overlay.enabled":                    {true, false},
	"overlay.createPodRoutes":            {true, false},
	"snatToUpstreamDNS.enabled":          {true, false},
	"snatOutOfCluster.enabled":           {true, false},
	"enableIpv4Masquerade":               {true, false},
	"enableIpv6Masquerade":               {true, false},
	"enableBPFMasquerade":                {true, false},
	"bgpControlPlane.enabled":            {true, false},
	"policyAuditMode":                    {true, false},
	"encryption.enabled":                 {true, false},
	"encryption.mode":                    {"", "wireguard", "other"},
	"encryption.nodeToNodeEnabled":       {true, false},
	"encryption.strictMode":              {true, false, false},
}

// anyConfig draws a config, of which most are valid.
func anyConfig(t *rapid.T) []byte {
	document := map[string]any{}
	for _, path := range sorted(values) {
		if rapid.IntRange(0, 2).Draw(t, path) == 0 {
			set(document, path, rapid.SampledFrom(values[path]).Draw(t, path+" value"))
		}
	}
	raw, err := json.Marshal(document)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func anyFacts(t *rapid.T) *plugin.Facts {
	ipv4, ipv6 := extensionsv1alpha1.IPv4, extensionsv1alpha1.IPv6
	facts := &plugin.Facts{
		Namespace: "shoot--test--one",
		PodCIDR:   podCIDR, ServiceCIDR: serviceCIDR,
		PodCIDRs: rapid.SampledFrom([][]string{nil, {podCIDR}, {podCIDR, podCIDR6}, {podCIDR6, podCIDR}}).Draw(t, "pod CIDRs"),
		IPFamilies: rapid.SampledFrom([][]extensionsv1alpha1.IPFamily{nil, {ipv4}, {ipv6}, {ipv4, ipv6}, {ipv6, ipv4}}).
			Draw(t, "families"),
		WantedIPFamilies: rapid.SampledFrom([][]extensionsv1alpha1.IPFamily{nil, {ipv4, ipv6}}).Draw(t, "wanted families"),
		NodeCIDR:         rapid.SampledFrom([]string{"", nodeCIDR, "2001:db8::/56"}).Draw(t, "node CIDR"),
		NodesAtLeast:     rapid.Int32Range(0, 3).Draw(t, "nodes"),
		NodeLocalDNS:     rapid.Bool().Draw(t, "node-local DNS"),
		IPAM:             rapid.SampledFrom([]string{"", "kubernetes", "cluster-pool", "eni"}).Draw(t, "IPAM"),
		Planned:          rapid.Bool().Draw(t, "planned"),
		Infrastructure:   plugin.Infrastructure{OwnNetwork: rapid.Bool().Draw(t, "own network")},
		KubeProxy: plugin.KubeProxy{
			Enabled: rapid.Bool().Draw(t, "kube-proxy"),
			Mode:    rapid.SampledFrom([]corev1beta1.ProxyMode{"", corev1beta1.ProxyModeIPVS}).Draw(t, "mode"),
		},
	}
	if rapid.IntRange(0, 3).Draw(t, "address") > 0 {
		facts.APIServer.ExternalHost = "api.one.test.example.com"
	}
	if rapid.IntRange(0, 3).Draw(t, "standalone") == 0 {
		facts.PodAccess = &plugin.PodAccess{Host: "api.example.com", Port: "443"}
	}
	return facts
}

// anyRequest draws a Request, of which many are valid.
func anyRequest(t *rapid.T) pipeline.Request {
	facts := anyFacts(t)
	request := pipeline.Request{
		Name: "network", Namespace: facts.Namespace, Author: pipeline.AuthorNetwork, Facts: *facts,
		Spec: extensionsv1alpha1.NetworkSpec{
			DefaultSpec: extensionsv1alpha1.DefaultSpec{Type: cilium.Type, ProviderConfig: &runtime.RawExtension{Raw: anyConfig(t)}},
			PodCIDR:     podCIDR, ServiceCIDR: serviceCIDR,
		},
	}
	if len(facts.IPFamilies) > 0 {
		completeSpec(&request)
	}
	return request
}
