// SPDX-License-Identifier: Apache-2.0

package calico_test

import (
	"encoding/json"
	"testing"

	. "github.com/onsi/gomega"
	"pgregory.net/rapid"
	"sigs.k8s.io/yaml"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/plugins/calico"
)

func TestEveryDefaultIsExplicitButTheThirdStateOfOverlay(t *testing.T) {
	g := NewWithT(t)
	want, err := yaml.YAMLToJSON([]byte(`
apiVersion: calico.networking.extensions.gardener.cloud/v1alpha1
kind: NetworkConfig
backend: bird
ipam: {type: host-local, cidr: usePodCidr}
ipv4: {pool: ipip, mode: Always, autoDetectionMethod: cidr=10.250.0.0/16}
typha: {enabled: true}
vethMTU: "0"
ebpfDataplane: {enabled: false}
snatToUpstreamDNS: {enabled: false}
autoScaling: {mode: cluster-proportional}
vxlan: {enabled: false}
wireguardEncryption: false
birdExporter: {enabled: false}
multus: {enabled: false, installCNIPlugins: false}
`))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(build(t, "").Config).To(MatchJSON(want))
}

func TestABlockThatIsThereIsWrittenInFull(t *testing.T) {
	for config, path := range map[string]string{
		"overlay: {}":                  "overlay",
		"typha: {}":                    "typha",
		"ebpfDataplane: {}":            "ebpfDataplane",
		"vxlan: {}":                    "vxlan",
		"birdExporter: {}":             "birdExporter",
		"{overlay: {}, typha: {}}":     "overlay",
		"{overlay: {}, backend: bird}": "overlay",
	} {
		t.Run(config, func(t *testing.T) {
			var effective map[string]any
			g := NewWithT(t)
			g.Expect(json.Unmarshal(build(t, config).Config, &effective)).To(Succeed())
			g.Expect(effective[path]).To(HaveKeyWithValue("enabled", false))
		})
	}
}

func TestStaticResourcesAreCompleted(t *testing.T) {
	g := NewWithT(t)
	var effective struct{ AutoScaling json.RawMessage }
	n := build(t, "autoScaling: {mode: static, resources: {node: {cpu: '1'}}}")
	g.Expect(json.Unmarshal(n.Config, &effective)).To(Succeed())
	g.Expect(effective.AutoScaling).To(MatchJSON(
		`{"mode": "static", "resources": {"node": {"cpu": "1", "memory": "100Mi"}, "typha": {"cpu": "200m", "memory": "100Mi"}}}`))
}

func TestOriginsTellWhereValuesComeFrom(t *testing.T) {
	for _, test := range []struct{ config, path, want string }{
		{"", "backend", "default"},
		{"", "ipam.type", "default"},
		{"backend: bird", "backend", "user"},
		{"", "ipv4.autoDetectionMethod", "rule: the Shoot states its nodes' range"},
		{"overlay: {enabled: true}", "overlay.enabled", "user"},
		{"overlay: {enabled: true}", "backend", "rule: overlay.enabled is true"},
		{"overlay: {enabled: false}", "ipv4.mode", "rule: overlay.enabled is false"},
		{"overlay: {enabled: false}", "snatToUpstreamDNS.enabled", "default"},
		{"backend: none", "ipv4.mode", "rule: the backend is none"},
		{"vxlan: {enabled: true}", "ipam.type", "rule: VXLAN needs calico-ipam"},
		{"vxlan: {enabled: true}", "ipv4.pool", "rule: vxlan.enabled is true"},
	} {
		t.Run(test.config+" "+test.path, func(t *testing.T) {
			NewWithT(t).Expect(build(t, test.config).Origins[test.path].String()).To(Equal(test.want))
		})
	}
}

func TestDefaultsAreIdempotent(t *testing.T) {
	p := calico.New()
	rapid.Check(t, func(t *rapid.T) {
		raw, facts := anyConfig(t), anyFacts(t)
		config, errs := p.Decode(raw, nil)
		if len(errs) > 0 {
			t.Fatalf("%s: %v", raw, errs.ToAggregate())
		}
		p.Default(config, facts, &plugin.Origins{})
		once, err := p.Encode(config)
		if err != nil {
			t.Fatal(err)
		}
		p.Default(config, facts, &plugin.Origins{})
		twice, err := p.Encode(config)
		if err != nil {
			t.Fatal(err)
		}
		if string(once) != string(twice) {
			t.Fatalf("%s becomes\n%s\nand then\n%s", raw, once, twice)
		}
	})
}

func TestWhateverIsValidRenders(t *testing.T) {
	p := calico.New()
	rapid.Check(t, func(t *rapid.T) {
		raw, facts := anyConfig(t), anyFacts(t)
		written, _ := p.Decode(raw, nil)
		effective, err := p.Clone(written)
		if err != nil {
			t.Fatal(err)
		}
		if found := p.Validate(written, facts, nil); len(found.Errors) > 0 {
			t.Skip("invalid")
		}
		p.Default(effective, facts, &plugin.Origins{})
		if found := p.ValidateEffective(effective, written, facts, nil); len(found.Errors) > 0 {
			t.Skip("invalid")
		}
		if _, err := p.Render(effective, facts); err != nil {
			t.Fatalf("%s: %v", raw, err)
		}
	})
}

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
	return &plugin.Facts{
		PodCIDR:  podCIDR,
		NodeCIDR: rapid.SampledFrom([]string{"", nodeCIDR}).Draw(t, "node CIDR"),
		NodeCIDRs: rapid.SampledFrom([][]string{nil, {nodeCIDR}, {"2001:db8::/56"}, {"10.1.0.0/16", "10.2.0.0/16"}}).
			Draw(t, "node CIDRs"),
		VPA:            rapid.Bool().Draw(t, "VPA"),
		Infrastructure: plugin.Infrastructure{NoIPIP: rapid.Bool().Draw(t, "no IP-in-IP")},
		KubeProxy: plugin.KubeProxy{
			Enabled: rapid.Bool().Draw(t, "kube-proxy"),
			Mode:    rapid.SampledFrom([]corev1beta1.ProxyMode{"", corev1beta1.ProxyModeNFTables}).Draw(t, "mode"),
		},
		FeatureGates: map[string]bool{"NonPrivilegedCalicoNode": rapid.Bool().Draw(t, "gate")},
	}
}
