// SPDX-License-Identifier: Apache-2.0

package calico_test

import (
	"encoding/json"

	"k8s.io/apimachinery/pkg/runtime"
	"pgregory.net/rapid"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/pipeline"
	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/plugins/calico"
)

// anyConfig draws a config, of which most are valid.
func anyConfig(t *rapid.T) []byte {
	document := map[string]any{}
	block := func(name string, fields map[string][]any) {
		if !rapid.Bool().Draw(t, name) {
			return
		}
		inner := map[string]any{}
		for _, field := range sorted(fields) {
			if rapid.Bool().Draw(t, name+"."+field) {
				inner[field] = rapid.SampledFrom(fields[field]).Draw(t, name+"."+field+" value")
			}
		}
		document[name] = inner
	}
	value := func(name string, values ...any) {
		if rapid.Bool().Draw(t, name) {
			document[name] = rapid.SampledFrom(values).Draw(t, name+" value")
		}
	}
	booleans := []any{true, false}
	modes := []any{"Always", "Never", "CrossSubnet", "Off"}
	value("backend", "bird", "none", "vxlan")
	if rapid.Bool().Draw(t, "with ipv6") {
		block("ipv6", map[string][]any{"pool": {"vxlan"}, "mode": {"Always", "Never"}, "autoDetectionMethod": {"", "first-found"}, "sourceNATEnabled": booleans})
	}
	block("ipam", map[string][]any{"type": {"", "host-local", "calico-ipam"}, "cidr": {"usePodCIDR", "100.64.1.0/24"}})
	block("ipv4", map[string][]any{"pool": {"ipip", "vxlan"}, "mode": modes, "autoDetectionMethod": {"", "first-found"}})
	block("typha", map[string][]any{"enabled": booleans})
	value("vethMTU", "0", "1440")
	block("ebpfDataplane", map[string][]any{"enabled": booleans})
	block("overlay", map[string][]any{"enabled": booleans, "createPodRoutes": booleans})
	block("snatToUpstreamDNS", map[string][]any{"enabled": booleans})
	block("autoScaling", map[string][]any{"mode": {"", "cluster-proportional", "vpa", "static"}, "resources": {
		map[string]any{}, map[string]any{"node": map[string]any{"cpu": "0.5"}}, map[string]any{"typha": map[string]any{"memory": "1024Mi"}}}})
	block("vxlan", map[string][]any{"enabled": booleans})
	value("wireguardEncryption", booleans...)
	block("birdExporter", map[string][]any{"enabled": booleans})
	block("multus", map[string][]any{"enabled": booleans, "installCNIPlugins": booleans})
	value("serviceLoopPrevention", "Disabled", "Drop", "Reject")
	value("ipip", modes...)
	value("ipAutodetectionMethod", "first-found")
	raw, err := json.Marshal(document)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func anyFacts(t *rapid.T) *plugin.Facts {
	ipv4, ipv6 := extensionsv1alpha1.IPv4, extensionsv1alpha1.IPv6
	return &plugin.Facts{
		Namespace: "shoot--test--one",
		PodCIDR:   podCIDR, ServiceCIDR: serviceCIDR,
		PodCIDRs: rapid.SampledFrom([][]string{nil, {podCIDR}, {podCIDR, podCIDR6}}).Draw(t, "pod CIDRs"),
		IPFamilies: rapid.SampledFrom([][]extensionsv1alpha1.IPFamily{nil, {ipv4}, {ipv6}, {ipv4, ipv6}, {ipv6, ipv4}}).
			Draw(t, "families"),
		WantedIPFamilies: rapid.SampledFrom([][]extensionsv1alpha1.IPFamily{nil, {ipv4, ipv6}}).Draw(t, "wanted families"),
		NodeCIDR:         rapid.SampledFrom([]string{"", nodeCIDR, "2001:db8::/56"}).Draw(t, "node CIDR"),
		NodeCIDRs: rapid.SampledFrom([][]string{nil, {nodeCIDR}, {"2001:db8::/56"}, {"10.1.0.0/16", "10.2.0.0/16", "2001:db8::/56"}}).
			Draw(t, "node CIDRs"),
		VPA:          rapid.Bool().Draw(t, "VPA"),
		NodeLocalDNS: rapid.Bool().Draw(t, "node-local DNS"),
		Infrastructure: plugin.Infrastructure{
			NoIPIP:           rapid.Bool().Draw(t, "no IP-in-IP"),
			OwnNetwork:       rapid.Bool().Draw(t, "own network"),
			VirtualFunctions: rapid.Bool().Draw(t, "virtual functions"),
		},
		KubeProxy: plugin.KubeProxy{
			Enabled: rapid.Bool().Draw(t, "kube-proxy"),
			Mode:    rapid.SampledFrom([]corev1beta1.ProxyMode{"", corev1beta1.ProxyModeNFTables}).Draw(t, "mode"),
		},
		FeatureGates: map[string]bool{"NonPrivilegedCalicoNode": rapid.Bool().Draw(t, "gate")},
	}
}

// anyRequest draws a Request, of which many are valid.
func anyRequest(t *rapid.T) pipeline.Request {
	facts := anyFacts(t)
	config := anyConfig(t)
	if rapid.IntRange(0, 9).Draw(t, "nonsense") > 0 {
		config = forFamilies(t, config, facts)
		facts.KubeProxy = plugin.KubeProxy{Enabled: true, Mode: facts.KubeProxy.Mode}
	}
	request := pipeline.Request{
		Name: "network", Namespace: facts.Namespace, Author: pipeline.AuthorNetwork, Facts: *facts,
		Spec: extensionsv1alpha1.NetworkSpec{
			DefaultSpec: extensionsv1alpha1.DefaultSpec{Type: calico.Type, ProviderConfig: &runtime.RawExtension{Raw: config}},
			PodCIDR:     podCIDR, ServiceCIDR: serviceCIDR,
		},
	}
	if len(facts.IPFamilies) > 0 {
		completeSpec(&request)
	}
	return request
}

// forFamilies takes out of a config what the network's families, or anything,
// forbid.
func forFamilies(t *rapid.T, config []byte, facts *plugin.Facts) []byte {
	document := map[string]map[string]any{}
	rest := map[string]any{}
	if err := json.Unmarshal(config, &rest); err != nil {
		t.Fatal(err)
	}
	for name, value := range rest {
		if block, ok := value.(map[string]any); ok {
			document[name] = block
		}
	}
	if !facts.HasIPFamily(extensionsv1alpha1.IPv4) && len(facts.IPFamilies) > 0 {
		delete(rest, "ipv4")
		delete(rest, "ipip")
	}
	if !facts.HasIPFamily(extensionsv1alpha1.IPv6) {
		delete(rest, "ipv6")
	}
	if facts.WantsIPFamily(extensionsv1alpha1.IPv6) {
		delete(document["ipam"], "type")
	}
	if pool := document["ipv4"]["pool"]; pool == "vxlan" {
		delete(document["ipv4"], "mode")
	}
	if mode, _ := document["autoScaling"]["mode"].(string); mode == "" {
		delete(rest, "autoScaling")
	}
	raw, err := json.Marshal(rest)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}
