// SPDX-License-Identifier: Apache-2.0

package cilium_test

import (
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/trellis-network/trellis/pipeline"
	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/plugins/cilium"
	"github.com/trellis-network/trellis/plugins/flannel"
)

const hostGateway = `{"apiVersion":"flannel.networking.extensions.gardener.cloud/v1alpha1","kind":"NetworkConfig","backend":{"type":"host-gw"}}`

// Only a network that the infrastructure makes routes for, without any of its own, is understood by another type.
func TestWhatKeepsCiliumFromSharingACluster(t *testing.T) {
	for name, test := range map[string]struct {
		config  string
		options []option
		says    string
	}{
		"routes of the infrastructure": {config: "overlay: {enabled: false}"},
		"a tunnel":                     {config: "tunnel: geneve", says: "tunnel: Forbidden: packets must travel without encapsulation"},
		"an overlay":                   {config: "overlay: {enabled: true}", says: "overlay.enabled: Forbidden: packets must travel without encapsulation"},
		"routes of its own":            {config: "overlay: {enabled: false, createPodRoutes: true}", says: "over routes that the infrastructure makes"},
		"WireGuard":                    {config: "overlay: {enabled: false}\nencryption: {enabled: true, mode: wireguard}", says: "encryption.enabled: Forbidden: must be false"},
		"addresses of a pool":          {config: "overlay: {enabled: false}", options: []option{withClusterPool}, says: "leads to the IPAM cluster-pool"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			both, err := pipeline.New([]plugin.Plugin{cilium.New(), flannel.New()}, nil)
			g.Expect(err).NotTo(HaveOccurred())
			base := requestFor(t, test.config, test.options...)
			other := base
			other.Spec.Type, other.Spec.ProviderConfig = "flannel", &runtime.RawExtension{Raw: []byte(hostGateway)}
			errs := both.BuildExchange(base, other, "cilium").Errors
			if test.says == "" {
				g.Expect(errs).To(BeEmpty())
			} else {
				g.Expect(errs.ToAggregate()).To(MatchError(ContainSubstring(test.says)))
			}
		})
	}
}

// cilium-operator would taint a node for good whose agent leaves, and restart DNS servers on nodes with another network.
func TestCiliumLeavesNodesWithAnotherNetworkAlone(t *testing.T) {
	g := NewWithT(t)
	shared := build(t, "overlay: {enabled: false}", func(in *plugin.Input) { in.SharesCluster = true }).data("cilium-config")
	g.Expect(shared).To(And(HaveKeyWithValue("set-cilium-node-taints", "false"), HaveKeyWithValue("unmanaged-pod-watcher-interval", "0s")))
}
