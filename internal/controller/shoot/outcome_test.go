// SPDX-License-Identifier: Apache-2.0

package shoot_test

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	resourcesv1alpha1 "github.com/trellis-network/trellis/api/resources/v1alpha1"
	"github.com/trellis-network/trellis/internal/condition"
	"github.com/trellis-network/trellis/internal/controller/shoot"
)

func keyOf(object client.Object) client.ObjectKey { return client.ObjectKeyFromObject(object) }

// The author of a Shoot reads about the Shoot's fields.
func TestTheNetworksErrorIsTheShoots(t *testing.T) {
	e := setup(t)
	e.kubeconfig(kubeconfig)
	s := e.shoot()
	e.applied()
	e.networkSays(failing, func(n *extensionsv1alpha1.Network) {
		n.Status.LastOperation.Description = "Error reconciling Network: Spec.providerConfig.number: Invalid value: 3: must be even"
		n.Status.LastError = &corev1beta1.LastError{
			Description: n.Status.LastOperation.Description,
			Codes:       []corev1beta1.ErrorCode{corev1beta1.ErrorConfigurationProblem},
		}
	})
	const wanted = "Error reconciling Network: spec.networking.providerConfig.number: Invalid value: 3: must be even"
	e.becomes(s, create, failing, wanted)
	e.Expect(s.Status.LastErrors).To(HaveLen(1))
	e.Expect(s.Status.LastErrors[0].Description).To(Equal(wanted))
	e.Expect(s.Status.LastErrors[0].Codes).To(ConsistOf(corev1beta1.ErrorConfigurationProblem))
	e.Expect(s.Status.LastErrors[0].TaskID).To(HaveValue(Equal("Waiting for the Network")))
	e.Expect(s.Status.LastErrors[0].LastUpdateTime).NotTo(BeNil())

	patch(e, s, func(s *corev1beta1.Shoot) {
		s.Spec.Networking.ProviderConfig = &runtime.RawExtension{Raw: []byte(`{"number":4}`)}
	})
	e.becomes(s, create, processing)
	e.Expect(s.Status.LastErrors).To(BeEmpty(), "the error was about another spec")
	e.networkSays(succeeded, func(n *extensionsv1alpha1.Network) { n.Status.LastError = nil })
	e.becomes(s, create, succeeded)
}

func TestTheNetworksHealthIsTheShoots(t *testing.T) {
	e := setup(t)
	s := e.finished()
	condition := corev1beta1.Condition{
		Type: "SystemComponentsHealthy", Status: corev1beta1.ConditionProgressing, Reason: "HealthCheckProgressing",
		Message: "agent: 1 of 2", LastTransitionTime: metav1.Now().Rfc3339Copy(), LastUpdateTime: metav1.Now().Rfc3339Copy(),
	}
	other := condition
	other.Type = "ControlPlaneHealthy"
	e.networkSays(succeeded, func(n *extensionsv1alpha1.Network) {
		n.Status.Conditions = []corev1beta1.Condition{other, condition}
	})
	e.Eventually(func() []corev1beta1.Condition { e.get(s); return s.Status.Conditions }).Should(HaveLen(1))
	e.Expect(s.Status.Conditions[0].Message).To(Equal("agent: 1 of 2"))
	e.Expect(s.Status.Conditions[0].LastTransitionTime.Equal(&condition.LastTransitionTime)).To(BeTrue())
	e.Expect(s.Status.LastOperation.Type).To(Equal(create), "health is no operation")

	e.networkSays(succeeded, func(n *extensionsv1alpha1.Network) { n.Status.Conditions = nil })
	e.Eventually(func() []corev1beta1.Condition { e.get(s); return s.Status.Conditions }).Should(BeEmpty())
}

func TestWarningsAreAConstraint(t *testing.T) {
	e := setup(t)
	s := e.finished()
	e.networkSays(succeeded, func(n *extensionsv1alpha1.Network) {
		n.Status.ProviderStatus = &runtime.RawExtension{Raw: []byte(
			`{"warnings":[{"field":"spec.providerConfig.number","message":"has no effect; see spec.podCIDR"}]}`)}
	})
	e.becomes(s, create, succeeded, "with a warning: see the constraint "+shoot.ConfigurationInForce)
	e.Expect(s.Status.Constraints).To(HaveLen(1))
	constraint := s.Status.Constraints[0]
	e.Expect(constraint.Type).To(Equal(shoot.ConfigurationInForce))
	e.Expect(constraint.Status).To(Equal(corev1beta1.ConditionFalse))
	e.Expect(constraint.Message).To(Equal("spec.networking.providerConfig.number: has no effect; see spec.networking.pods"))

	long := `{"field":"spec.providerConfig.number","message":"` + strings.Repeat("x", condition.MaxMessage/2) + `"}`
	e.networkSays(succeeded, func(n *extensionsv1alpha1.Network) {
		n.Status.ProviderStatus = &runtime.RawExtension{Raw: []byte(`{"warnings":[` + long + `,` + long + `]}`)}
	})
	e.becomes(s, create, succeeded, "with 2 warnings: see the constraint "+shoot.ConfigurationInForce)
	e.Expect(len(s.Status.Constraints[0].Message)).To(BeNumerically("<=", condition.MaxMessage))
	e.Expect(s.Status.Constraints[0].Message).To(HaveSuffix("…"))

	e.networkSays(succeeded, func(n *extensionsv1alpha1.Network) { n.Status.ProviderStatus = nil })
	e.Eventually(func() []corev1beta1.Condition { e.get(s); return s.Status.Constraints }).Should(BeEmpty())
}

// The ranges in use are in the status, by which the API refuses others. Where they
// are not, the controller does, since no network could follow.
func TestRangesInUseCannotChange(t *testing.T) {
	e := setup(t)
	s := e.finished()
	e.stop()
	before := s.DeepCopy()
	s.Status.Networking = nil
	e.Expect(e.client.Status().Patch(t.Context(), s, client.MergeFrom(before))).To(Succeed())
	patch(e, s, func(s *corev1beta1.Shoot) { s.Spec.Networking.Pods = ptr.To("10.96.0.0/16") })
	e.start()
	e.becomes(s, reconcile, failing, "spec.networking.pods", "100.96.0.0/11", "10.96.0.0/16")
}

func TestANetworkIsNotTakenAway(t *testing.T) {
	e := setup(t)
	s := e.finished()
	patch(e, s, func(s *corev1beta1.Shoot) { s.Spec.Provider.Workers = nil })
	e.becomes(s, reconcile, failing, "spec.provider.workers")
	e.get(e.network())
}

// While the shoot does not answer, its owner is told so, and not only that
// something is waited for.
func TestWhatHoldsTheResourceManagerUpIsTold(t *testing.T) {
	e := setup(t)
	e.kubeconfig(kubeconfig)
	s := e.shoot()
	const cause = "the shoot's API server https://api.example.example.org cannot be reached: no route"
	fails := func(name string) {
		managed := &resourcesv1alpha1.ManagedResource{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: e.controlPlane}}
		e.appears(managed)
		before := managed.DeepCopy()
		managed.Status.Conditions = []corev1beta1.Condition{{
			Type: resourcesv1alpha1.ResourcesApplied, Status: corev1beta1.ConditionFalse, Reason: "ApplyFailed", Message: cause,
			LastTransitionTime: metav1.Now(), LastUpdateTime: metav1.Now(),
		}}
		e.Expect(e.client.Status().Patch(t.Context(), managed, client.MergeFrom(before))).To(Succeed())
	}
	e.appears(e.network())
	e.Expect(e.client.Create(t.Context(), &resourcesv1alpha1.ManagedResource{
		ObjectMeta: metav1.ObjectMeta{Name: "example-config", Namespace: e.controlPlane},
		Spec:       resourcesv1alpha1.ManagedResourceSpec{SecretRefs: []corev1.LocalObjectReference{}},
	})).To(Succeed())
	fails("example-config")
	e.becomes(s, create, processing, "Waiting until the Network", "the ManagedResource example-config: "+cause)
	e.networkSays(succeeded, func(*extensionsv1alpha1.Network) {})
	fails(shoot.PrerequisitesName)
	e.becomes(s, create, processing, "Waiting until the ManagedResource", "is applied: "+cause)

	n := e.holdNetwork()
	e.Expect(e.client.Delete(t.Context(), s)).To(Succeed())
	e.becomes(s, deleting, processing, "Waiting until the Network", "is gone: the ManagedResource example-config: "+cause)
	patch(e, n, func(n *extensionsv1alpha1.Network) { n.Finalizers = nil })
	e.gone(s)
}
