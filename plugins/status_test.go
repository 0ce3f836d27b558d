// SPDX-License-Identifier: Apache-2.0

package plugins_test

import (
	"encoding/json"
	"testing"

	. "github.com/onsi/gomega"
	kjson "sigs.k8s.io/json"

	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/pipeline"
	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/plugins"
	calicov1alpha1 "github.com/trellis-network/trellis/plugins/calico/v1alpha1"
	ciliumv1alpha1 "github.com/trellis-network/trellis/plugins/cilium/v1alpha1"
	flannelv1alpha1 "github.com/trellis-network/trellis/plugins/flannel/v1alpha1"
)

// What the operator writes into status.providerStatus can be decoded strictly.
func TestTheGoTypeOfEachStatusHasAllThatIsWritten(t *testing.T) {
	types := map[string]any{
		"calico": &calicov1alpha1.NetworkStatus{}, "cilium": &ciliumv1alpha1.NetworkStatus{}, "flannel": &flannelv1alpha1.NetworkStatus{},
	}
	p, err := pipeline.New(plugins.All(), nil)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	for _, each := range plugins.All() {
		t.Run(each.Type, func(t *testing.T) {
			g := NewWithT(t)
			g.Expect(types).To(HaveKey(each.Type))
			network := &extensionsv1alpha1.Network{}
			network.Name, network.Namespace = "example", "shoot--dev--example"
			network.Spec.Type, network.Spec.PodCIDR, network.Spec.ServiceCIDR = each.Type, "10.1.0.0/16", "10.2.0.0/16"
			built := p.Build(p.NewRequest(network, nil, plugin.Environment{}))
			g.Expect(built.Errors).To(BeEmpty())
			config := map[string]any{}
			g.Expect(json.Unmarshal(built.Config, &config)).To(Succeed())
			config["clusterCIDR"], config["serviceCIDR"] = network.Spec.PodCIDR, network.Spec.ServiceCIDR
			components := map[string]bool{}
			for _, component := range built.Objects.Components {
				components[component.Name] = true
			}
			raw, err := json.Marshal(map[string]any{
				"apiVersion": "example/v1", "kind": "NetworkStatus", "config": config, "components": components, "dataPath": built.DataPath,
				"warnings": []plugin.Warning{{Field: "spec.type", Message: "an example"}},
				"rollouts": map[string]any{"one": map[string]any{"nodes": 3, "updated": 1, "available": 2, "since": "2026-01-01T12:00:00Z"}},
				"connectivityTests": map[string]any{
					"pods": true, "services": true, "dns": true, "nodes": false,
					"families": map[string]any{"IPv4": map[string]bool{"pods": true}, "IPv6": map[string]bool{"nodes": false}},
					"summary": map[string]any{
						"nodes": 3, "edges": 12, "passingPercent": 91, "evidence": "2026-01-01T12:00:00Z",
						"worst": []any{map[string]any{
							"node": "one", "target": "two", "test": "nodes", "family": "IPv6", "lastSuccess": "2026-01-01T11:59:00Z", "error": "no answer",
						}},
					},
				},
				"networkModules": map[string]bool{"arp_proxy": true},
				"transition": map[string]any{
					"from": "VXLAN between nodes", "to": "no encapsulation", "step": 1, "steps": 2, "name": "VXLAN between subnets",
					"nodes": 3, "nodesDone": 1, "waitsFor": "an example", "since": "2026-01-01T12:00:00Z",
				},
			})
			g.Expect(err).NotTo(HaveOccurred())
			strict, err := kjson.UnmarshalStrict(raw, types[each.Type])
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(strict).To(BeEmpty())
			again, err := json.Marshal(types[each.Type])
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(again).To(MatchJSON(raw))
		})
	}
}
