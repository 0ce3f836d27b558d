// SPDX-License-Identifier: Apache-2.0

package shoot_test

import (
	"encoding/json"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/internal/controller/shoot"
	"github.com/trellis-network/trellis/test/contract"
)

func TestAShootGetsItsControlPlane(t *testing.T) {
	contract.Shows(t, "C9", "C14")
	e := setup(t)
	e.kubeconfig(kubeconfig)
	s := e.shoot()

	n := e.network()
	e.appears(n)
	e.Expect(n.Spec.Type).To(Equal("example"))
	e.Expect(n.Spec.PodCIDR).To(Equal("100.96.0.0/11"))
	e.Expect(n.Spec.ServiceCIDR).To(Equal("100.64.0.0/13"))
	e.Expect(n.Spec.ProviderConfig.Raw).To(MatchJSON(`{"number":3,"nothing":null}`))
	e.Expect(n.Annotations).NotTo(HaveKey(extensionsv1alpha1.OperationAnnotation), "in standalone mode the generation triggers")

	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: e.controlPlane}}
	e.get(namespace)
	e.Expect(namespace.Labels).To(And(
		HaveKeyWithValue("gardener.cloud/role", "shoot"),
		HaveKeyWithValue("shoot.gardener.cloud/provider", "cloud"),
		HaveKeyWithValue("networking.shoot.gardener.cloud/provider", "example")))
	e.Expect(namespace.Annotations).To(HaveKeyWithValue(shoot.ShootAnnotation, e.project+"/example"))

	access := e.access()
	e.get(access)
	e.Expect(string(access.Data["kubeconfig"])).To(Equal(kubeconfig))

	e.becomes(s, create, processing, "Waiting until the Network")
	e.Expect(s.Finalizers).To(ConsistOf("gardener"))
	e.Expect(s.Status.TechnicalID).To(Equal(e.controlPlane))
	e.Expect(*s.Status.Networking).To(Equal(corev1beta1.NetworkingStatus{
		Pods: []string{"100.96.0.0/11"}, Services: []string{"100.64.0.0/13"}, Nodes: []string{"10.250.0.0/16"}}))

	e.networkSays(processing, func(n *extensionsv1alpha1.Network) { n.Status.ObservedGeneration = 0 })
	e.becomes(s, create, processing, "Reconciling the Network")
	e.networkSays(succeeded, func(*extensionsv1alpha1.Network) {})
	e.becomes(s, create, processing, "Waiting until the ManagedResource", "is applied")
	e.applied()
	e.becomes(s, create, succeeded, "Successfully reconciled Shoot")
	e.Expect(s.Status.LastOperation.Progress).To(BeEquivalentTo(100))
	e.Expect(s.Status.LastErrors).To(BeEmpty())
}

// The Cluster holds all of the Shoot, known to us or not, but nothing that would
// change with each report about it.
func TestTheClusterHoldsTheWholeShoot(t *testing.T) {
	contract.Shows(t, "T2")
	e := setup(t)
	s := e.finished()
	cluster := e.cluster()
	e.get(cluster)
	e.Expect(cluster.Annotations).To(HaveKeyWithValue(extensionsv1alpha1.APIServerAnnotation, "api.example.example.org:443"))
	e.Expect(cluster.Spec.CloudProfile.Raw).To(MatchJSON(
		`{"apiVersion":"core.gardener.cloud/v1beta1","kind":"CloudProfile","metadata":{"name":"landscape"}}`))
	e.Expect(cluster.Spec.Seed).To(BeNil())

	var document struct {
		metav1.TypeMeta
		Metadata, Spec, Status map[string]any
	}
	e.Expect(json.Unmarshal(cluster.Spec.Shoot.Raw, &document)).To(Succeed())
	e.Expect(document.TypeMeta).To(Equal(metav1.TypeMeta{APIVersion: "core.gardener.cloud/v1beta1", Kind: "Shoot"}))
	e.Expect(document.Metadata).To(And(
		HaveKeyWithValue("uid", string(s.UID)), HaveKey("annotations"), Not(HaveKey("managedFields")), Not(HaveKey("resourceVersion"))))
	e.Expect(document.Spec).To(And(HaveKey("dns"), HaveKeyWithValue("kubernetes", HaveKey("clusterAutoscaler"))))
	e.Expect(document.Status).To(HaveKeyWithValue("technicalID", e.controlPlane))
	e.Expect(document.Status).To(And(HaveKey("networking"), Not(HaveKey("lastOperation")), Not(HaveKey("conditions"))))

	patch(e, s, func(s *corev1beta1.Shoot) { s.Spec.Kubernetes.Version = "1.33.2" })
	e.Eventually(func() string {
		e.get(cluster)
		return string(cluster.Spec.Shoot.Raw)
	}).Should(ContainSubstring(`"version":"1.33.2"`))
	e.networkSays(succeeded, func(*extensionsv1alpha1.Network) {})
	e.becomes(s, reconcile, succeeded)
}

func TestAnEditedShootIsReconciled(t *testing.T) {
	e := setup(t)
	s := e.finished()
	patch(e, s, func(s *corev1beta1.Shoot) {
		s.Spec.Networking.ProviderConfig = &runtime.RawExtension{Raw: []byte(`{"other":2}`)}
	})
	e.becomes(s, reconcile, processing)
	n := e.networkSays(succeeded, func(*extensionsv1alpha1.Network) {})
	e.Expect(n.Spec.ProviderConfig.Raw).To(MatchJSON(`{"other":2}`), "what the user took away is gone")
	e.becomes(s, reconcile, succeeded)

	patch(e, s, func(s *corev1beta1.Shoot) { s.Spec.Networking.ProviderConfig = nil })
	e.becomes(s, reconcile, processing)
	n = e.networkSays(succeeded, func(*extensionsv1alpha1.Network) {})
	e.Expect(n.Spec.ProviderConfig).To(BeNil())
	e.becomes(s, reconcile, succeeded)
}

func TestAnEditedNetworkIsSetBack(t *testing.T) {
	contract.Shows(t, "C11")
	e := setup(t)
	e.finished()
	n := e.network()
	patch(e, n, func(n *extensionsv1alpha1.Network) { n.Spec.ProviderConfig.Raw = []byte(`{"number":4}`) })
	e.Eventually(func() string {
		e.get(n)
		return string(n.Spec.ProviderConfig.Raw)
	}).Should(MatchJSON(`{"number":3,"nothing":null}`))
}

func TestDeletedObjectsAreCreatedAgain(t *testing.T) {
	e := setup(t)
	s := e.finished()
	e.Expect(e.client.Delete(t.Context(), e.network())).To(Succeed())
	e.Expect(e.client.Delete(t.Context(), e.cluster())).To(Succeed())
	e.Expect(e.client.Delete(t.Context(), e.access())).To(Succeed())
	e.Expect(e.client.Delete(t.Context(), e.prerequisites())).To(Succeed())
	e.becomes(s, reconcile, processing)
	e.appears(e.cluster())
	e.appears(e.access())
	e.applied()
	e.networkSays(succeeded, func(*extensionsv1alpha1.Network) {})
	e.becomes(s, reconcile, succeeded)
}

// With another release the prerequisites have other content, in a Secret of another name.
func TestTheSecretOfFormerPrerequisitesIsDeletedOnceTheNewOnesAreApplied(t *testing.T) {
	e := setup(t)
	e.kubeconfig(kubeconfig)
	e.shoot()
	e.appears(e.prerequisites())
	former := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{
		Namespace: e.controlPlane, Name: "managedresource-trellis-prerequisites-00000000",
		Labels: map[string]string{"trellis.network/managed-resource": shoot.PrerequisitesName},
	}}
	e.Expect(e.client.Create(t.Context(), former)).To(Succeed())
	e.networkSays(succeeded, func(*extensionsv1alpha1.Network) {})
	e.stays(former)
	e.applied()
	e.gone(former)
	managed := e.prerequisites()
	e.get(managed)
	e.get(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: e.controlPlane, Name: managed.Spec.SecretRefs[0].Name}})
}

func TestAWorkerlessShootHasNoNetwork(t *testing.T) {
	contract.Shows(t, "C10")
	e := setup(t)
	e.kubeconfig(kubeconfig)
	s := e.shoot(func(s *corev1beta1.Shoot) {
		s.Spec.Provider.Workers, s.Spec.Networking = nil, nil
	})
	e.applied()
	e.becomes(s, create, succeeded, "without workers it has no pod network")
	e.Expect(e.client.Get(t.Context(), keyOf(e.network()), e.network())).To(MatchError(ContainSubstring("not found")))
}

// The API server of a hibernated cluster does not run, so nothing can be applied.
func TestAHibernatedShootDoesNotWaitForItsPrerequisites(t *testing.T) {
	e := setup(t)
	e.kubeconfig(kubeconfig)
	s := e.shoot(func(s *corev1beta1.Shoot) { s.Spec.Hibernation = &corev1beta1.Hibernation{Enabled: ptr.To(true)} })
	e.networkSays(succeeded, func(*extensionsv1alpha1.Network) {})
	e.becomes(s, create, succeeded)
}

// What changes only the facts of a network, and not the Network itself, is not
// done before the Network has taken it into account.
func TestAShootIsNotDoneBeforeItsNetworkHasSeenIt(t *testing.T) {
	e := setup(t)
	s := e.finished()
	patch(e, s, func(s *corev1beta1.Shoot) {
		s.Spec.Kubernetes.KubeProxy = &corev1beta1.KubeProxy{Enabled: ptr.To(false)}
	})
	e.becomes(s, reconcile, processing, "Waiting until the Network "+e.controlPlane+"/example is ready")
	e.stays(s)
	e.networkSays(succeeded, func(*extensionsv1alpha1.Network) {})
	e.becomes(s, reconcile, succeeded)
}
