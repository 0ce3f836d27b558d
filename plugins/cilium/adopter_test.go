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
			g.Expect(p.Inherit(written(t, first))).To(Equal(plugin.Inherited{IPAM: mode}))
		})
	}
	g := NewWithT(t)
	g.Expect(p.Inherit(nil)).To(BeZero())
	other := unstructured.Unstructured{Object: map[string]any{"kind": "ConfigMap", "data": map[string]any{"ipam": "cluster-pool"},
		"metadata": map[string]any{"name": "cilium-config", "namespace": "default"}}}
	g.Expect(p.Inherit([]unstructured.Unstructured{other})).To(BeZero())
}

// Gardener's extension has the policies in one bundle with the agents. A resource manager would
// delete them if they left it.
func TestPoliciesStayInTheBundleThatTheyAreIn(t *testing.T) {
	g := NewWithT(t)
	before := build(t, hubbleEnabled, withNodeLocalDNS)
	policies := before.Objects.In(bundleName + "-later")
	g.Expect(policies).To(HaveLen(6))
	present := written(t, before)
	for _, policy := range policies {
		present = append(present, unstructured.Unstructured{Object: built.Document(t, policy)})
	}
	kept := cilium.New().Inherit(present)
	g.Expect(kept.OneBundle).To(BeTrue())

	n := build(t, hubbleEnabled, withNodeLocalDNS, func(in *plugin.Input) { in.Inherited = kept })
	g.Expect(n.Objects.In(bundleName + "-later")).To(BeEmpty())
	g.Expect(n.Objects.In(bundleName)).To(HaveLen(len(present)))
	g.Expect(cilium.New().Inherit(written(t, n))).To(Equal(kept), "as long as the network lives")
	g.Expect(then(n, hubbleEnabled, withNodeLocalDNS).Objects.In(bundleName)).To(HaveLen(len(present)), "by what was applied last")
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
