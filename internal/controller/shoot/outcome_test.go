// SPDX-License-Identifier: Apache-2.0

package shoot_test

import (
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
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
		n.Status.LastOperation.Description = "Error reconciling Network: Spec.providerConfig.knots: Invalid value: 3: must be even"
		n.Status.LastError = &corev1beta1.LastError{
			Description: n.Status.LastOperation.Description,
			Codes:       []corev1beta1.ErrorCode{corev1beta1.ErrorConfigurationProblem},
		}
	})
	const wanted = "Error reconciling Network: spec.networking.providerConfig.knots: Invalid value: 3: must be even"
	e.becomes(s, create, failing, wanted)
	e.Expect(s.Status.LastErrors).To(HaveLen(1))
	e.Expect(s.Status.LastErrors[0].Description).To(Equal(wanted))
	e.Expect(s.Status.LastErrors[0].Codes).To(ConsistOf(corev1beta1.ErrorConfigurationProblem))
	e.Expect(s.Status.LastErrors[0].TaskID).To(HaveValue(Equal("Waiting for the Network")))
	e.Expect(s.Status.LastErrors[0].LastUpdateTime).NotTo(BeNil())

	patch(e, s, func(s *corev1beta1.Shoot) {
		s.Spec.Networking.ProviderConfig = &runtime.RawExtension{Raw: []byte(`{"knots":4}`)}
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
		Message: "cans: 1 of 2", LastTransitionTime: metav1.Now().Rfc3339Copy(), LastUpdateTime: metav1.Now().Rfc3339Copy(),
	}
	other := condition
	other.Type = "ControlPlaneHealthy"
	e.networkSays(succeeded, func(n *extensionsv1alpha1.Network) {
		n.Status.Conditions = []corev1beta1.Condition{other, condition}
	})
	e.Eventually(func() []corev1beta1.Condition { e.get(s); return s.Status.Conditions }).Should(HaveLen(1))
	e.Expect(s.Status.Conditions[0].Message).To(Equal("cans: 1 of 2"))
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
			`{"warnings":[{"field":"spec.providerConfig.knots","message":"are not tied; see spec.podCIDR"}]}`)}
	})
	e.becomes(s, create, succeeded, "with a warning: see the constraint "+shoot.ConfigurationInForce)
	e.Expect(s.Status.Constraints).To(HaveLen(1))
	constraint := s.Status.Constraints[0]
	e.Expect(constraint.Type).To(Equal(shoot.ConfigurationInForce))
	e.Expect(constraint.Status).To(Equal(corev1beta1.ConditionFalse))
	e.Expect(constraint.Message).To(Equal("spec.networking.providerConfig.knots: are not tied; see spec.networking.pods"))

	e.networkSays(succeeded, func(n *extensionsv1alpha1.Network) { n.Status.ProviderStatus = nil })
	e.Eventually(func() []corev1beta1.Condition { e.get(s); return s.Status.Constraints }).Should(BeEmpty())
}

// A range that is stated only after the default one was used passes the Shoot's
// schema, but no network can follow.
func TestRangesInUseCannotChange(t *testing.T) {
	e := setup(t)
	s := e.finished()
	patch(e, s, func(s *corev1beta1.Shoot) { s.Spec.Networking.Pods = ptr.To("10.96.0.0/16") })
	e.becomes(s, reconcile, failing, "spec.networking.pods", "100.96.0.0/11", "10.96.0.0/16")
	e.Expect(s.Status.Networking.Pods).To(ConsistOf("100.96.0.0/11"))
}

func TestANetworkIsNotTakenAway(t *testing.T) {
	e := setup(t)
	s := e.finished()
	patch(e, s, func(s *corev1beta1.Shoot) { s.Spec.Provider.Workers = nil })
	e.becomes(s, reconcile, failing, "spec.provider.workers")
	e.get(e.network())
}
