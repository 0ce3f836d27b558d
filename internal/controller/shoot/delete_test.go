// SPDX-License-Identifier: Apache-2.0

package shoot_test

import (
	"slices"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	resourcesv1alpha1 "github.com/trellis-network/trellis/api/resources/v1alpha1"
)

const resourceManagerFinalizer = "resources.gardener.cloud/gardener-resource-manager"

func (e *env) controlPlaneNamespace() *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: e.controlPlane}}
}

func (e *env) holdNetwork() *extensionsv1alpha1.Network {
	n := e.network()
	patch(e, n, func(n *extensionsv1alpha1.Network) { n.Finalizers = []string{extensionsv1alpha1.NetworkFinalizer} })
	return n
}

func (e *env) holdPrerequisites() *resourcesv1alpha1.ManagedResource {
	managed := e.prerequisites()
	patch(e, managed, func(m *resourcesv1alpha1.ManagedResource) { m.Finalizers = []string{resourceManagerFinalizer} })
	return managed
}

// Each thing goes only when what needs it has gone.
func TestDeletionGoesBackwards(t *testing.T) {
	e := setup(t)
	s := e.finished()
	n, managed := e.holdNetwork(), e.holdPrerequisites()
	e.Expect(e.client.Delete(t.Context(), s)).To(Succeed())

	e.becomes(s, deleting, processing, "Waiting until the Network "+e.controlPlane+"/example is gone")
	e.get(n)
	e.Expect(n.DeletionTimestamp).NotTo(BeNil())
	e.Expect(n.Annotations).To(HaveKeyWithValue(extensionsv1alpha1.ConfirmationAnnotation, "true"))
	e.stays(s)
	e.get(managed)
	e.Expect(managed.DeletionTimestamp).To(BeNil())

	patch(e, n, func(n *extensionsv1alpha1.Network) { n.Finalizers = nil })
	e.becomes(s, deleting, processing, "ManagedResources", managed.Name)
	e.stays(s)
	e.get(e.access())
	e.get(e.cluster())

	patch(e, managed, func(m *resourcesv1alpha1.ManagedResource) { m.Finalizers = nil })
	e.gone(s)
	e.gone(e.cluster())
	e.gone(e.controlPlaneNamespace())
	e.get(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "example.kubeconfig", Namespace: e.project}})
}

// A user may delete the kubeconfig along with the Shoot, and have a config that
// cannot be decoded.
func TestDeletionNeedsNothingOfTheUser(t *testing.T) {
	e := setup(t)
	secret := e.kubeconfig(kubeconfig)
	s := e.finished()
	patch(e, s, func(s *corev1beta1.Shoot) {
		s.Spec.Networking.ProviderConfig = &runtime.RawExtension{Raw: []byte(`{"apiVersion":7}`)}
	})
	n := e.holdNetwork()
	e.Expect(e.client.Delete(t.Context(), secret)).To(Succeed())
	e.Expect(e.client.Delete(t.Context(), s)).To(Succeed())
	e.becomes(s, deleting, processing, "Network")
	e.get(e.access())
	patch(e, n, func(n *extensionsv1alpha1.Network) { n.Finalizers = nil })
	e.gone(s)
	e.gone(e.controlPlaneNamespace())
}

func TestAFailingDeletionIsTold(t *testing.T) {
	e := setup(t)
	s := e.finished()
	n := e.holdNetwork()
	e.Expect(e.client.Delete(t.Context(), s)).To(Succeed())
	e.becomes(s, deleting, processing)
	e.networkSays(failing, func(n *extensionsv1alpha1.Network) {
		n.Status.LastOperation.Type = deleting
		n.Status.LastOperation.Description = "Error deleting Network: a reason"
		n.Status.LastError = &corev1beta1.LastError{
			Description: "Error deleting Network: a reason", Codes: []corev1beta1.ErrorCode{corev1beta1.ErrorCleanupClusterResources}}
	})
	e.becomes(s, deleting, failing, "a reason")
	e.Expect(s.Status.LastErrors[0].Codes).To(ConsistOf(corev1beta1.ErrorCleanupClusterResources))
	patch(e, n, func(n *extensionsv1alpha1.Network) { n.Finalizers = nil })
	e.gone(s)
}

// A forced deletion waits for nothing inside the shoot, and says so to those who
// read the Cluster.
func TestAForcedDeletionWaitsForNothingInTheShoot(t *testing.T) {
	e := setup(t)
	s := e.finished()
	n := e.holdNetwork()
	e.holdPrerequisites()
	e.Expect(e.client.Create(t.Context(), &resourcesv1alpha1.ManagedResource{
		ObjectMeta: metav1.ObjectMeta{Namespace: e.controlPlane, Name: "by-another-name", Finalizers: []string{resourceManagerFinalizer}},
		Spec:       resourcesv1alpha1.ManagedResourceSpec{Class: new("resources"), SecretRefs: []corev1.LocalObjectReference{}},
	})).To(Succeed())
	e.Expect(e.client.Delete(t.Context(), s)).To(Succeed())
	e.becomes(s, deleting, processing)
	patch(e, s, func(s *corev1beta1.Shoot) {
		metav1.SetMetaDataAnnotation(&s.ObjectMeta, extensionsv1alpha1.ForceDeletionAnnotation, "true")
	})
	cluster := e.cluster()
	e.Eventually(func() string { e.get(cluster); return string(cluster.Spec.Shoot.Raw) }).
		Should(ContainSubstring(extensionsv1alpha1.ForceDeletionAnnotation))
	patch(e, n, func(n *extensionsv1alpha1.Network) { n.Finalizers = nil })
	e.gone(s)
	e.gone(e.controlPlaneNamespace())
}

func TestAShootThatGotNowhereIsDeleted(t *testing.T) {
	e := setup(t)
	s := e.shoot()
	e.becomes(s, create, failing, "does not exist")
	e.Expect(e.client.Delete(t.Context(), s)).To(Succeed())
	e.gone(s)
	e.gone(e.controlPlaneNamespace())
	e.Expect(slices.ContainsFunc(e.requests.All(), func(line string) bool { return line[:3] == "PUT" })).To(BeFalse())
}
