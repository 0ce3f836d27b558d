// SPDX-License-Identifier: Apache-2.0

package installed

import (
	"fmt"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/test/harness"
)

// configOf returns a configuration of the local infrastructure, in a version of its own.
func configOf(kind string, version int) *runtime.RawExtension {
	return &runtime.RawExtension{Raw: fmt.Appendf(nil, `{"apiVersion":"local.provider.extensions.gardener.cloud/v1alpha1","kind":%q,"version":%d}`, kind, version)}
}

// A Shoot with an Infrastructure, which the provider of local infrastructures makes, with the
// rights in config/rbac/infrastructure and config/rbac/local, each of which the operator uses.
func TestALocalInfrastructure(t *testing.T) {
	const own = "trellis-infrastructure"
	seed := landscape.Seed(t)
	o := newInstalled(t, seed, own, "{mode: standalone, config: {infrastructures: [local]}}", pluginsOf("flannel"))
	ofAll, _ := o.installs("mode: standalone")
	o.start()
	shoot := shootOf("first", "flannel")
	shoot.Spec.Provider.InfrastructureConfig = configOf("InfrastructureConfig", 1)
	o.create(shoot)
	o.succeeds(shoot)
	key := client.ObjectKey{Namespace: "shoot--dev--first", Name: "first"}
	infrastructure, controlPlane := &extensionsv1alpha1.Infrastructure{}, &extensionsv1alpha1.ControlPlane{}
	o.Expect(seed.Get(t.Context(), key, infrastructure)).To(Succeed())
	o.Expect(seed.Get(t.Context(), key, controlPlane)).To(Succeed())
	o.Expect(infrastructure.Annotations).NotTo(HaveKey("gardener.cloud/operation"))
	o.Expect(infrastructure.Finalizers).To(ConsistOf("extensions.gardener.cloud/infrastructure"))
	o.Expect(infrastructure.Status.LastOperation).To(HaveField("State", corev1beta1.LastOperationStateSucceeded))
	o.Expect(string(controlPlane.Spec.InfrastructureProviderStatus.Raw)).To(Equal(`{"apiVersion":"local.provider.extensions.gardener.cloud/v1alpha1","kind":"InfrastructureStatus"}`))
	o.Expect(controlPlane.Spec.ProviderConfig).To(BeNil())

	harness.Change(t, seed, shoot, func(s *corev1beta1.Shoot) {
		s.Spec.Provider.InfrastructureConfig, s.Spec.Provider.ControlPlaneConfig = configOf("InfrastructureConfig", 2), configOf("ControlPlaneConfig", 2)
	})
	o.succeeds(shoot)
	o.Expect(seed.Get(t.Context(), key, infrastructure)).To(Succeed())
	o.Expect(infrastructure.Generation).To(BeEquivalentTo(2))
	o.Expect(infrastructure.Spec.ProviderConfig).To(Equal(shoot.Spec.Provider.InfrastructureConfig))

	harness.Change(t, seed, shoot, func(s *corev1beta1.Shoot) {
		s.Spec.Provider.InfrastructureConfig = configOf("NetworkConfig", 2)
	})
	o.Eventually(func() []corev1beta1.LastError { seed.Read(t, shoot); return shoot.Status.LastErrors }).Should(ConsistOf(And(
		HaveField("Description", `Error reconciling Infrastructure: spec.providerConfig.kind: Unsupported value: "NetworkConfig": supported values: "InfrastructureConfig"`),
		HaveField("Codes", ConsistOf(corev1beta1.ErrorConfigurationProblem)))))
	o.delete(shoot)
	o.isGone(infrastructure)
	o.isGone(namespaceNamed(key.Namespace))

	made := shootOf("first", "flannel")
	made.Spec.Provider.InfrastructureConfig = configOf("InfrastructureConfig", 1)
	o.create(made)
	o.succeeds(made)
	o.stop()
	o.values = "{mode: standalone, rights: [infrastructure]}"
	o.start()
	o.Expect(seed.Delete(t.Context(), made)).To(Succeed())
	for _, object := range []client.Object{controlPlane, infrastructure} {
		o.Eventually(func(g Gomega) {
			g.Expect(seed.Get(t.Context(), key, object)).To(Succeed())
			g.Expect(object.GetDeletionTimestamp()).NotTo(BeNil())
		}).WithTimeout(patience).Should(Succeed(), "the operator deletes it, although the type is no longer in infrastructures")
		harness.Change(t, seed, object, func(o client.Object) { o.SetFinalizers(nil) }) // as its controller would
	}
	o.isGone(made)
	o.stop()
	o.hasExactlyItsRights(ofAll)
}
