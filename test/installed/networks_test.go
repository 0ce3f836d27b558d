// SPDX-License-Identifier: Apache-2.0

package installed

import (
	"testing"

	. "github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/test/contract"
	"github.com/trellis-network/trellis/test/harness"
)

// What Gardener's extension for Azure does with Networks, with the rights that the chart adds for it,
// each of which the operator uses, and without them it removes what it has made.
func TestNetworksAreChangedAsGardenersExtensionForAzureDoes(t *testing.T) {
	contract.Shows(t, "W4")
	for mode, seed := range map[string]*harness.Cluster{"standalone": landscape.Seed(t), "gardener": landscapeSeed(t)} {
		t.Run(mode, func(t *testing.T) { networksAreChanged(t, seed, mode) })
	}
}

func networksAreChanged(t *testing.T, seed *harness.Cluster, mode string) {
	t.Helper()
	o := newInstalled(t, seed, "trellis-networks", "{mode: "+mode+", config: {webhooks: {networks: true}}}", pluginsOf("calico"))
	ofAll, _ := o.installs("mode: " + mode)
	planeOf := func(name, infrastructure, networkType string) *corev1.Namespace {
		namespace := namespaceNamed(name)
		namespace.Labels = map[string]string{"shoot.gardener.cloud/provider": infrastructure, "networking.shoot.gardener.cloud/provider": networkType}
		return namespace
	}
	const onAzure, onAWS, cilium = "shoot--net--azure", "shoot--net--aws", "shoot--net--cilium"
	o.create(planeOf(onAzure, "azure", "calico"), planeOf(onAWS, "aws", "calico"), planeOf(cilium, "azure", "cilium"))
	o.start()

	network := func(namespace, networkType, config string) *extensionsv1alpha1.Network {
		n := &extensionsv1alpha1.Network{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "net"}}
		n.Spec.Type, n.Spec.PodCIDR, n.Spec.ServiceCIDR = networkType, "100.96.0.0/11", "100.64.0.0/13"
		if config != "" {
			n.Spec.ProviderConfig = &runtime.RawExtension{Raw: []byte(config)}
		}
		return n
	}
	configuration := &admissionregistrationv1.MutatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "gardener-extension-trellis-networks"}}
	seed.Await(t, configuration)
	o.Expect(configuration.Webhooks).To(ConsistOf(HaveField("Name", "network-calico.azure.extensions.gardener.cloud")))

	changed := network(onAzure, "calico", `{"overlay":{"enabled":true},"backend":"bird"}`)
	o.Eventually(func(g Gomega) {
		written := network(onAzure, "calico", "")
		g.Expect(seed.Create(t.Context(), written, client.DryRunAll)).To(Succeed())
		g.Expect(written.Spec.ProviderConfig).NotTo(BeNil())
		g.Expect(written.Spec.ProviderConfig.Raw).To(MatchJSON(`{"backend":"none","kind":""}`))
	}).Should(Succeed(), "API servers call a new webhook after a moment")
	o.create(changed)
	o.Expect(changed.Spec.ProviderConfig.Raw).To(MatchJSON(`{"overlay":{"enabled":true},"backend":"none"}`))
	generation := changed.Generation
	harness.Change(t, seed, changed, func(n *extensionsv1alpha1.Network) {
		n.Spec.ProviderConfig = &runtime.RawExtension{Raw: []byte(`{"overlay":{"enabled":true},"backend":"bird"}`)}
	})
	o.Expect(changed.Generation).To(Equal(generation), "written again as gardenlet does, it comes out the same")

	for _, left := range []*extensionsv1alpha1.Network{network(onAWS, "calico", `{"backend":"bird"}`), network(cilium, "cilium", `{"tunnel":"vxlan"}`)} {
		before := string(left.Spec.ProviderConfig.Raw)
		o.create(left)
		o.Expect(left.Spec.ProviderConfig.Raw).To(MatchJSON(before), left.Namespace)
	}
	harness.Change(t, seed, configuration, func(w *admissionregistrationv1.MutatingWebhookConfiguration) { w.Webhooks[0].NamespaceSelector = nil })
	o.stop()
	o.start()
	o.Eventually(func() *metav1.LabelSelector {
		seed.Read(t, configuration)
		return configuration.Webhooks[0].NamespaceSelector
	}).
		Should(HaveField("MatchExpressions", HaveLen(2)), "what another client edits is put back")
	o.stop()
	err := seed.Create(t.Context(), &extensionsv1alpha1.Network{
		ObjectMeta: metav1.ObjectMeta{Namespace: onAzure, Name: "later"}, Spec: network(onAzure, "calico", "").Spec,
	})
	o.Expect(apierrors.IsInternalError(err)).To(BeTrue(), "no Network of Calico is written on Azure without the change: %v", err)
	o.values = "mode: " + mode
	o.start()
	o.isGone(configuration)
	o.stop()
	later := network(onAzure, "calico", "")
	later.Name = "later"
	o.Eventually(func() error { return seed.Create(t.Context(), later.DeepCopy(), client.DryRunAll) }).Should(Succeed(), "nothing refuses it any longer")
	o.hasExactlyItsRights(ofAll)
}
