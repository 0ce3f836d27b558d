// SPDX-License-Identifier: Apache-2.0

package cilium_test

import (
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/plugins/cilium"
	"github.com/trellis-network/trellis/test/built"
)

// written are the objects of a network as they were written.
func written(t *testing.T, n *network) []unstructured.Unstructured {
	t.Helper()
	var objects []unstructured.Unstructured
	for _, object := range n.Objects.In(bundleName) {
		objects = append(objects, unstructured.Unstructured{Object: built.Document(t, object)})
	}
	return objects
}

func TestANetworkGoesOnWithTheIPAMThatItHas(t *testing.T) {
	p := cilium.New()
	for _, mode := range []string{"kubernetes", "cluster-pool"} {
		t.Run(mode, func(t *testing.T) {
			g := NewWithT(t)
			first := build(t, "", func(f *plugin.Input) { f.IPAM = mode })
			g.Expect(first.data("cilium-config")).To(HaveKeyWithValue("ipam", mode))
			g.Expect(p.IPAM(written(t, first))).To(Equal(mode))
		})
	}
	g := NewWithT(t)
	g.Expect(p.IPAM(nil)).To(BeEmpty())
	other := unstructured.Unstructured{Object: map[string]any{"kind": "ConfigMap", "data": map[string]any{"ipam": "cluster-pool"},
		"metadata": map[string]any{"name": "cilium-config", "namespace": "default"}}}
	g.Expect(p.IPAM([]unstructured.Unstructured{other})).To(BeEmpty())
}

// The mode is read from the objects once.
func TestIPAMIsRemembered(t *testing.T) {
	g := NewWithT(t)
	n := then(build(t, "", withClusterPool), "debug: true")
	g.Expect(n.data("cilium-config")).To(HaveKeyWithValue("ipam", "cluster-pool"))
	g.Expect(then(n, "debug: true").data("cilium-config")).To(HaveKeyWithValue("ipam", "cluster-pool"))
}

// Gardener's extension refuses IPVS with NodeLocalDNS only if the Shoot enables kube-proxy
// explicitly. Otherwise the network runs.
func TestANetworkWithIPVSAndNodeLocalDNSIsTakenOver(t *testing.T) {
	g := NewWithT(t)
	ipvs := func(facts *plugin.Input) { withIPVS(facts); withNodeLocalDNS(facts) }
	request := requestFor(t, "", ipvs)
	g.Expect(tryRequest(t, request).Errors).To(HaveLen(1), "a new one")
	request.TakenOver = request.Accepted()
	n := tryRequest(t, request)
	g.Expect(n.Errors).To(BeEmpty())
	g.Expect(n.Warnings).To(ContainElement(And(
		HaveField("Field", "spec.kubernetes.kubeProxy.mode"), HaveField("Message", ContainSubstring("would be refused in a new network")))))
	g.Expect(then(n, "debug: true", ipvs).Errors).To(BeEmpty())
}
