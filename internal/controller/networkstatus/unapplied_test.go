// SPDX-License-Identifier: Apache-2.0

package networkstatus_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	resourcesv1alpha1 "github.com/trellis-network/trellis/api/resources/v1alpha1"
	"github.com/trellis-network/trellis/internal/state"
	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/test/harness"
)

// Cilium's extras fail until their definitions are there. The success of a Network does not
// wait for them, so the condition tells.
func TestABundleThatCannotBeAppliedIsInTheCondition(t *testing.T) {
	e := setup(t, often)
	e.daemonSet("agent", plain)
	n := e.network()
	report := e.extras(n, e.component("agent", "DaemonSet", "agent"))
	report(corev1beta1.ConditionFalse, "ApplyFailed", `no matches for kind "CiliumEnvoyConfig"`)
	e.becomes(n, corev1beta1.ConditionProgressing, "HealthCheckProgressing",
		`the ManagedResource example-later is not applied: no matches for kind "CiliumEnvoyConfig"`)
	e.clock.SetTime(e.clock.Now().Add(6 * time.Minute))
	e.patchStatus(n, func(n *extensionsv1alpha1.Network) { n.Status.ObservedGeneration++ })
	e.becomes(n, corev1beta1.ConditionFalse, "HealthCheckUnsuccessful", "the ManagedResource example-later is not applied")
	report(corev1beta1.ConditionTrue, "ApplySucceeded", "All resources are applied.")
	e.becomes(n, corev1beta1.ConditionTrue, "HealthCheckSuccessful")
}

func TestABundleOfANetworkWithoutComponentsIsInTheCondition(t *testing.T) {
	e := setup(t, often)
	n := e.network()
	report := e.extras(n)
	report(corev1beta1.ConditionFalse, "ApplyFailed", "quota exceeded")
	e.becomes(n, corev1beta1.ConditionProgressing, "HealthCheckProgressing",
		"the ManagedResource example-later is not applied: quota exceeded")
	report(corev1beta1.ConditionTrue, "ApplySucceeded", "All resources are applied.")
	e.becomes(n, corev1beta1.ConditionTrue, "HealthCheckSuccessful", "The network has no components")
}

func TestABundleThatNoResourceManagerAppliesIsInTheCondition(t *testing.T) {
	e := setup(t, often)
	e.daemonSet("agent", plain)
	n := e.network()
	e.clock.SetTime(time.Now().Add(time.Minute))
	e.extras(n, e.component("agent", "DaemonSet", "agent"))
	e.becomes(n, corev1beta1.ConditionTrue, "HealthCheckSuccessful")
	e.clock.SetTime(time.Now().Add(5 * time.Minute))
	e.patchStatus(n, func(n *extensionsv1alpha1.Network) { n.Status.ObservedGeneration++ })
	e.becomes(n, corev1beta1.ConditionProgressing, "HealthCheckProgressing",
		"the ManagedResource example-later is not applied: no resource manager has reported on it within 3m0s")
}

// extras gives a Network the components, and a bundle that its success does not wait for. It returns
// what reports on that as a resource manager does.
func (e *env) extras(n *extensionsv1alpha1.Network, components ...plugin.Component) func(corev1beta1.ConditionStatus, string, string) {
	e.t.Helper()
	extras := plugin.ExtrasBundle("example-later", nil)
	const secret = "managedresource-example-later-1"
	encoded, err := (&state.State{Components: components, Bundles: []state.Bundle{state.BundleOf(&extras, secret)}}).Encode()
	e.Expect(err).NotTo(HaveOccurred())
	mr := &resourcesv1alpha1.ManagedResource{ObjectMeta: metav1.ObjectMeta{Name: "example-later", Namespace: e.namespace}}
	mr.Spec.SecretRefs = []corev1.LocalObjectReference{{Name: secret}}
	e.Expect(e.seed.Create(e.t.Context(), mr)).To(Succeed())
	e.patchStatus(n, func(n *extensionsv1alpha1.Network) { n.Status.State = encoded })
	return func(status corev1beta1.ConditionStatus, reason, message string) {
		e.t.Helper()
		harness.ChangeStatus(e.t, e.seed, mr, func(mr *resourcesv1alpha1.ManagedResource) {
			mr.Status.Conditions = []corev1beta1.Condition{{
				Type: resourcesv1alpha1.ResourcesApplied, Status: status, Reason: reason, Message: message,
				LastTransitionTime: metav1.NewTime(noon), LastUpdateTime: metav1.NewTime(noon),
			}}
		})
	}
}
