// SPDX-License-Identifier: Apache-2.0

package networkstatus_test

import (
	"testing"

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
	extras := plugin.ExtrasBundle("example-later", nil)
	encoded, err := (&state.State{
		Components: []plugin.Component{e.component("agent", "DaemonSet", "agent")},
		Bundles:    []state.Bundle{state.BundleOf(&extras, "managedresource-example-later-1")},
	}).Encode()
	e.Expect(err).NotTo(HaveOccurred())
	mr := &resourcesv1alpha1.ManagedResource{ObjectMeta: metav1.ObjectMeta{Name: "example-later", Namespace: e.namespace}}
	mr.Spec.SecretRefs = []corev1.LocalObjectReference{{Name: "managedresource-example-later-1"}}
	e.Expect(e.seed.Create(t.Context(), mr)).To(Succeed())
	report := func(status corev1beta1.ConditionStatus, reason, message string) {
		harness.ChangeStatus(t, e.seed, mr, func(mr *resourcesv1alpha1.ManagedResource) {
			mr.Status.Conditions = []corev1beta1.Condition{{
				Type: resourcesv1alpha1.ResourcesApplied, Status: status, Reason: reason, Message: message,
				LastTransitionTime: metav1.NewTime(noon), LastUpdateTime: metav1.NewTime(noon),
			}}
		})
	}
	report(corev1beta1.ConditionFalse, "ApplyFailed", `no matches for kind "CiliumEnvoyConfig"`)
	e.patchStatus(n, func(n *extensionsv1alpha1.Network) { n.Status.State = encoded })
	e.becomes(n, corev1beta1.ConditionProgressing, "HealthCheckProgressing",
		`the ManagedResource example-later is not applied: no matches for kind "CiliumEnvoyConfig"`)
	e.clock.SetTime(e.clock.Now().Add(6 * 60e9))
	e.patchStatus(n, func(n *extensionsv1alpha1.Network) { n.Status.ObservedGeneration++ })
	e.becomes(n, corev1beta1.ConditionFalse, "HealthCheckUnsuccessful", "the ManagedResource example-later is not applied")
	report(corev1beta1.ConditionTrue, "ApplySucceeded", "All resources are applied.")
	e.becomes(n, corev1beta1.ConditionTrue, "HealthCheckSuccessful")
}
