// SPDX-License-Identifier: Apache-2.0

package networkstatus_test

import (
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/test/contract"
)

// The Network's controller writes by merge patch, this one by server-side apply,
// into one providerStatus.
func TestNeitherControllerWipesWhatTheOtherWrote(t *testing.T) {
	e := setup(t, often)
	e.daemonSet("cans", plain)
	e.daemonSet("knots", plain)
	n := e.network()
	config := func(raw string) {
		e.patchStatus(n, func(n *extensionsv1alpha1.Network) { n.Status.ProviderStatus = &runtime.RawExtension{Raw: []byte(raw)} })
	}
	config(`{"apiVersion":"string.example.org/v1","kind":"NetworkStatus","config":{"knots":3,"list":[1]},"warnings":[{"field":"a","message":"b"}]}`)
	cans, knots := e.component("cans", "DaemonSet", "cans"), e.component("knots", "DaemonSet", "knots")
	e.keep(n, cans, knots)
	e.becomes(n, corev1beta1.ConditionTrue, "HealthCheckSuccessful")
	e.Expect(providerStatus(n)).To(MatchJSON(`{"apiVersion":"string.example.org/v1","kind":"NetworkStatus",
		"config":{"knots":3,"list":[1]},"warnings":[{"field":"a","message":"b"}],"components":{"cans":true,"knots":true}}`))

	config(`{"apiVersion":"string.example.org/v1","kind":"NetworkStatus","config":{"knots":4},"components":{"cans":true,"knots":true}}`)
	e.keep(n, cans)
	e.Eventually(func() string {
		e.becomes(n, corev1beta1.ConditionTrue, "HealthCheckSuccessful")
		return providerStatus(n)
	}).
		Should(MatchJSON(`{"apiVersion":"string.example.org/v1","kind":"NetworkStatus","config":{"knots":4},"components":{"cans":true}}`),
			"a component that is no more is taken out, and nothing else")
	e.Expect(n.Status.State).NotTo(BeNil())
}

func TestOthersConditionsStay(t *testing.T) {
	contract.Shows(t, "H6")
	e := setup(t, often)
	e.daemonSet("cans", plain)
	n := e.network()
	e.patchStatus(n, func(n *extensionsv1alpha1.Network) {
		n.Status.Conditions = []corev1beta1.Condition{{
			Type: "ControlPlaneHealthy", Status: corev1beta1.ConditionTrue, Reason: "Fine", Message: "fine",
			LastTransitionTime: metav1.NewTime(noon), LastUpdateTime: metav1.NewTime(noon)}}
	})
	e.keep(n, e.component("cans", "DaemonSet", "cans"))
	e.becomes(n, corev1beta1.ConditionTrue, "HealthCheckSuccessful")
	e.Expect(n.Status.Conditions).To(HaveLen(2))
	e.Expect(n.Status.Conditions[0].Type).To(Equal("ControlPlaneHealthy"))
}

// Invariant 5.
func TestAnUnchangedNetworkCostsNoRequest(t *testing.T) {
	e := setup(t, often)
	e.daemonSet("cans", plain)
	n := e.network(e.component("cans", "DaemonSet", "cans"))
	e.becomes(n, corev1beta1.ConditionTrue, "HealthCheckSuccessful")
	e.requests.Forget()
	e.stays(n)
	e.Expect(e.aboutNetworks()).To(BeEmpty())
}

// What an earlier extension left there is not ours to remove, and no reason to
// write for ever.
func TestForeignComponentsCostNoRequest(t *testing.T) {
	e := setup(t, often)
	e.daemonSet("cans", plain)
	n := e.network()
	e.patchStatus(n, func(n *extensionsv1alpha1.Network) {
		n.Status.ProviderStatus = &runtime.RawExtension{Raw: []byte(`{"components":{"cups":true,"odd":"text"}}`)}
	})
	e.keep(n, e.component("cans", "DaemonSet", "cans"))
	e.becomes(n, corev1beta1.ConditionTrue, "HealthCheckSuccessful")
	e.Expect(providerStatus(n)).To(MatchJSON(`{"components":{"cans":true,"cups":true,"odd":"text"}}`))
	e.stays(n)
	e.requests.Forget()
	e.stays(n)
	e.Expect(e.aboutNetworks()).To(BeEmpty())
}
