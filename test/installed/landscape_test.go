// SPDX-License-Identifier: Apache-2.0

package installed

import (
	"fmt"
	"testing"

	. "github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	resourcesv1alpha1 "github.com/trellis-network/trellis/api/resources/v1alpha1"
	"github.com/trellis-network/trellis/plugins"
	"github.com/trellis-network/trellis/test/harness"
)

// In a landscape, the operator has exactly the rights that it uses, and none that only
// standalone operators need.
func TestRightsOfAnOperatorInALandscape(t *testing.T) {
	t.Parallel()
	const own = "extension-trellis"
	seed := landscapeSeed(t)
	o := newInstalled(t, seed, own, "mode: gardener", plugins.All())

	const controlPlane = "shoot--dev--mine"
	o.create(namespaceNamed(controlPlane))
	shoot := shootOf("mine", "calico")
	seed.PutShoot(t, controlPlane, shoot)
	kubeconfig, err := harness.Connect(landscape.Get(t).Shoots[0].Kubeconfig)
	o.Expect(err).NotTo(HaveOccurred())
	seed.PutAccess(t, controlPlane, kubeconfig.Kubeconfig)
	o.ofGardener(controlPlane)
	network := &extensionsv1alpha1.Network{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: controlPlane, Name: "mine",
			Annotations: map[string]string{extensionsv1alpha1.OperationAnnotation: extensionsv1alpha1.OperationReconcile},
		},
		Spec: extensionsv1alpha1.NetworkSpec{
			Type: "calico", PodCIDR: "100.64.0.0/12", ServiceCIDR: "100.96.0.0/13",
		},
	}
	o.create(network)
	o.start()
	o.isApplied(network)
	for _, mtu := range []int{1400, 1440} { // the same events twice
		o.asks(network, fmt.Appendf(nil, `{"vethMTU":"%d"}`, mtu))
	}
	o.stop()
	abandoned := o.abandoned()
	certificates := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: own, Name: "trellis-webhooks"}}
	harness.Change(t, seed, certificates, func(s *corev1.Secret) { s.Data["tls.crt"] = []byte("unusable") })
	heartbeat := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: own, Name: "gardener-extension-heartbeat"}}
	seed.Read(t, heartbeat)
	renewed := *heartbeat.Spec.RenewTime
	o.start()
	o.Eventually(func() metav1.MicroTime { seed.Read(t, heartbeat); return *heartbeat.Spec.RenewTime }).ShouldNot(Equal(renewed))
	for _, configuration := range abandoned {
		o.isGone(configuration)
	}
	harness.Change(t, seed, network, func(n *extensionsv1alpha1.Network) {
		metav1.SetMetaDataAnnotation(&n.ObjectMeta, extensionsv1alpha1.ConfirmationAnnotation, "true")
	})
	o.delete(network)
	o.stop()
	o.hasExactlyItsRights(nil)
}

// ofGardener creates the ManagedResource of Gardener's extension for Calico, which Trellis takes
// over.
func (o *installed) ofGardener(controlPlane string) {
	o.t.Helper()
	o.create(
		&corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: controlPlane, Name: "managedresource-extension-networking-calico-config-1"},
			Data:       map[string][]byte{"config.yaml": []byte("{apiVersion: v1, kind: ConfigMap, metadata: {namespace: kube-system, name: calico-config}}")},
		},
		&resourcesv1alpha1.ManagedResource{
			ObjectMeta: metav1.ObjectMeta{Namespace: controlPlane, Name: "extension-networking-calico-config"},
			Spec: resourcesv1alpha1.ManagedResourceSpec{
				SecretRefs: []corev1.LocalObjectReference{{Name: "managedresource-extension-networking-calico-config-1"}},
			},
		})
}

// asks changes the config of a Network as gardenlet does.
func (o *installed) asks(network *extensionsv1alpha1.Network, providerConfig []byte) {
	o.t.Helper()
	harness.Change(o.t, o.seed, network, func(n *extensionsv1alpha1.Network) {
		n.Spec.ProviderConfig = &runtime.RawExtension{Raw: providerConfig}
		metav1.SetMetaDataAnnotation(&n.ObjectMeta, extensionsv1alpha1.OperationAnnotation, extensionsv1alpha1.OperationReconcile)
	})
	o.isApplied(network)
}

// isApplied waits until a Network has succeeded. It reports its ManagedResources as applied, as
// Gardener's resource manager does.
func (o *installed) isApplied(network *extensionsv1alpha1.Network) {
	o.t.Helper()
	o.Eventually(func(g Gomega) {
		list := &resourcesv1alpha1.ManagedResourceList{}
		g.Expect(o.seed.List(o.t.Context(), list, client.InNamespace(network.Namespace))).To(Succeed())
		for i := range list.Items {
			if mr := &list.Items[i]; mr.Status.ObservedGeneration != mr.Generation {
				harness.ChangeStatus(o.t, o.seed, mr, harness.Applied)
			}
		}
		g.Expect(o.seed.Get(o.t.Context(), client.ObjectKeyFromObject(network), network)).To(Succeed())
		g.Expect(network.Annotations).NotTo(HaveKey(extensionsv1alpha1.OperationAnnotation))
		g.Expect(network.Status.ObservedGeneration).To(Equal(network.Generation))
		g.Expect(network.Status.LastOperation).To(HaveField("State", corev1beta1.LastOperationStateSucceeded))
	}).Should(Succeed(), func() string { return fmt.Sprint(o.usage.Refused()) })
}
