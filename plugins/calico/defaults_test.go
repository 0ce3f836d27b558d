// SPDX-License-Identifier: Apache-2.0

package calico_test

import (
	"encoding/json"
	"testing"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/yaml"
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
