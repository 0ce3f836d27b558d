// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/json"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	resourcesv1alpha1 "github.com/trellis-network/trellis/api/resources/v1alpha1"
)

// A Shoot requests Calico with an overlay, on an infrastructure without IP-in-IP. It gets
// VXLAN, and a warning that states so. Its deletion leaves no object behind.
func TestAShootGetsItsNetworkAndLeavesNothingBehind(t *testing.T) {
	w := setup(t, forOthers)
	seedBefore, shootBefore := w.snapshot(w.seed), w.snapshot(w.shoot)
	w.apply(w.johndoe())
	w.succeeds()

	node := &appsv1.DaemonSet{}
	w.Expect(w.shoot.Get(t.Context(), inKubeSystem("calico-node"), node)).To(Succeed())
	w.Expect(node.Status.NumberAvailable).To(BeEquivalentTo(3))
	w.Expect(node.Status.UpdatedNumberScheduled).To(BeEquivalentTo(3))
	w.Expect(envOf(node)).To(And(
		HaveKeyWithValue("FELIX_VXLANENABLED", "true"), HaveKeyWithValue("CALICO_IPV4POOL_VXLAN", "Always"),
		HaveKeyWithValue("CALICO_IPV4POOL_IPIP", "Never"), Not(HaveKey("FELIX_IPINIPENABLED")),
		HaveKey("KUBERNETES_SERVICE_HOST")))
	controllers := &appsv1.Deployment{}
	w.Expect(w.shoot.Get(t.Context(), inKubeSystem("calico-kube-controllers"), controllers)).To(Succeed())
	w.Expect(controllers.Status.AvailableReplicas).To(BeEquivalentTo(1))
	w.Expect(w.shoot.Get(t.Context(), inKubeSystem("calico-typha-deploy"), controllers)).To(MatchError(ContainSubstring("not found")))
	config := &corev1.ConfigMap{}
	w.Expect(w.shoot.Get(t.Context(), inKubeSystem("calico-config"), config)).To(Succeed())
	w.Expect(config.Data["cni_network_config"]).To(ContainSubstring(`"calico-ipam"`))
	w.Expect(config.Data["veth_mtu"]).To(Equal("1440"))
	crds := &apiextensionsv1.CustomResourceDefinitionList{}
	w.Expect(w.shoot.List(t.Context(), crds)).To(Succeed())
	w.Expect(crds.Items).To(HaveLen(24))
	for _, crd := range crds.Items {
		w.Expect(crd.Status.Conditions).To(ContainElement(And(
			HaveField("Type", apiextensionsv1.Established), HaveField("Status", apiextensionsv1.ConditionTrue))), crd.Name)
	}

	monitoring := &resourcesv1alpha1.ManagedResource{}
	inSeed := func(name string) client.ObjectKey {
		return client.ObjectKey{Namespace: w.controlPlane().Name, Name: name}
	}
	w.Expect(w.seed.Get(t.Context(), inSeed("extension-networking-calico-config-seed"), monitoring)).To(Succeed())
	w.Expect(monitoring.Status.Conditions).To(ContainElement(And(
		HaveField("Type", resourcesv1alpha1.ResourcesApplied), HaveField("Status", corev1beta1.ConditionTrue),
		HaveField("Message", ContainSubstring("Left out, since the cluster does not have their kinds (ScrapeConfig.monitoring.coreos.com)")))))
	w.Expect(w.seed.Get(t.Context(), inSeed("calico-dashboards"), config)).To(Succeed())

	network := w.network()
	var status struct {
		Components map[string]bool
		Config     struct{ Backend string }
		Warnings   []struct{ Field, Message string }
	}
	w.Expect(json.Unmarshal(network.Status.ProviderStatus.Raw, &status)).To(Succeed())
	w.Expect(status.Components).To(Equal(map[string]bool{"calicoNodes": true, "kubeControllers": true}))
	w.Expect(status.Config.Backend).To(Equal("vxlan"))
	w.Expect(status.Warnings).To(ContainElement(And(
		HaveField("Field", "spec.providerConfig.overlay.enabled"),
		HaveField("Message", And(ContainSubstring("IP-in-IP is not available"), ContainSubstring("VXLAN"), ContainSubstring("calico-ipam"))))))
	w.Expect(w.johndoeNow().Spec.Networking.ProviderConfig.Raw).To(MatchJSON(network.Spec.ProviderConfig.Raw), "Trellis must not change the user's spec")

	w.delete()
	w.Expect(difference(seedBefore, w.snapshot(w.seed))).To(BeEmpty())
	w.Expect(difference(shootBefore, w.snapshot(w.shoot))).To(BeEmpty())
}

// An invalid Shoot changes nothing in the running network. A user can correct or delete it.
func TestAnInvalidShootChangesNothing(t *testing.T) {
	w := setup(t, forOthers)
	w.apply(w.johndoe())
	w.succeeds()
	before := w.snapshot(w.shoot)

	w.apply(w.johndoe(func(config map[string]any) { config["backend"] = "ipvlan" }))
	w.Eventually(func() *corev1beta1.LastOperation { return w.johndoeNow().Status.LastOperation }).
		Should(HaveField("State", corev1beta1.LastOperationStateError))
	reported := w.johndoeNow().Status.LastErrors
	w.Expect(reported).To(HaveLen(1))
	w.Expect(reported[0].Description).To(And(
		ContainSubstring("spec.networking.providerConfig.backend"), ContainSubstring(`"ipvlan"`), ContainSubstring("bird, none, vxlan")))
	w.Expect(reported[0].Codes).To(ConsistOf(corev1beta1.ErrorConfigurationProblem))
	w.Expect(difference(before, w.snapshot(w.shoot))).To(BeEmpty())

	w.apply(w.johndoe())
	w.succeeds()
	w.apply(w.johndoe(func(config map[string]any) { config["backend"] = "ipvlan" }))
	w.delete()
}

func inKubeSystem(name string) client.ObjectKey {
	return client.ObjectKey{Namespace: "kube-system", Name: name}
}

// envOf returns the environment variables, with their values, of the container that has the
// same name as its DaemonSet.
func envOf(set *appsv1.DaemonSet) map[string]string {
	env := map[string]string{}
	for _, container := range set.Spec.Template.Spec.Containers {
		if container.Name == set.Name {
			for _, variable := range container.Env {
				env[variable.Name] = variable.Value
			}
		}
	}
	return env
}
