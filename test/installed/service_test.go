// SPDX-License-Identifier: Apache-2.0

package installed

import (
	"context"
	"testing"

	. "github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
)

// The seed's API server calls the operator through its Service, and trusts what it serves by the
// Service's name. Standalone, no webhook is for shoots, whose API servers do not reach a Service of
// the seed.
func TestTheSeedCallsTheOperatorThroughItsService(t *testing.T) {
	const own, plane = "trellis-service", "shoot--service--aws"
	seed := landscape.Seed(t)
	o := newInstalled(t, seed, own, "{mode: standalone, config: {webhooks: {networks: true}, controlPlane: {kubeControllerManager: [{provider: azure}]}}}", pluginsOf("calico"))
	o.service = "trellis-operator"
	namespace := namespaceNamed(plane)
	namespace.Labels = map[string]string{"shoot.gardener.cloud/provider": "azure", "networking.shoot.gardener.cloud/provider": "calico"}
	o.create(namespace)
	o.address = seed.Service(t, own, o.service)
	o.start()

	for name, path := range map[string]string{
		"gardener-extension-trellis": "/controlplane/azure", "gardener-extension-trellis-networks": "/network/azure/calico",
	} {
		configuration := &admissionregistrationv1.MutatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: name}}
		t.Cleanup(func() {
			o.Expect(client.IgnoreNotFound(seed.Delete(context.Background(), configuration))).To(Succeed())
		})
		o.Eventually(func(g Gomega) { // other tests may have left one
			g.Expect(seed.Get(t.Context(), client.ObjectKeyFromObject(configuration), configuration)).To(Succeed())
			g.Expect(configuration.Webhooks).To(ConsistOf(HaveField("ClientConfig", And(
				HaveField("URL", BeNil()),
				HaveField("Service", Equal(&admissionregistrationv1.ServiceReference{Namespace: own, Name: o.service, Path: &path, Port: new(int32(443))}))))))
		}).Should(Succeed())
	}
	o.Eventually(func(g Gomega) {
		network := &extensionsv1alpha1.Network{ObjectMeta: metav1.ObjectMeta{Namespace: plane, Name: "net"}}
		network.Spec.Type, network.Spec.PodCIDR, network.Spec.ServiceCIDR = "calico", "100.96.0.0/11", "100.64.0.0/13"
		g.Expect(seed.Create(t.Context(), network, client.DryRunAll)).To(Succeed())
		g.Expect(network.Spec.ProviderConfig).To(HaveField("Raw", ContainSubstring(`"backend":"none"`)))
		deployment := controllerManager(plane)
		g.Expect(seed.Create(t.Context(), deployment, client.DryRunAll)).To(Succeed())
		g.Expect(commandOf(deployment)).To(ContainElement("--cloud-provider=external"))
	}).Should(Succeed())
	o.stop()
}

func commandOf(d *appsv1.Deployment) []string { return d.Spec.Template.Spec.Containers[0].Command }
