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
	e.daemonSet("agent", plain)
	e.daemonSet("controller", plain)
	n := e.network()
	config := func(raw string) {
		e.patchStatus(n, func(n *extensionsv1alpha1.Network) { n.Status.ProviderStatus = &runtime.RawExtension{Raw: []byte(raw)} })
	}
	config(`{"apiVersion":"example.trellis.network/v1","kind":"NetworkStatus","config":{"controller":3,"list":[1]},"warnings":[{"field":"a","message":"b"}]}`)
	agent, controller := e.component("agent", "DaemonSet", "agent"), e.component("controller", "DaemonSet", "controller")
	e.keep(n, agent, controller)
	e.becomes(n, corev1beta1.ConditionTrue, "HealthCheckSuccessful")
	e.Expect(providerStatus(n)).To(MatchJSON(`{"apiVersion":"example.trellis.network/v1","kind":"NetworkStatus",
		"config":{"controller":3,"list":[1]},"warnings":[{"field":"a","message":"b"}],"components":{"agent":true,"controller":true}}`))

	config(`{"apiVersion":"example.trellis.network/v1","kind":"NetworkStatus","config":{"controller":4},"components":{"agent":true,"controller":true}}`)
	e.keep(n, agent)
	e.Eventually(func() string {
		e.becomes(n, corev1beta1.ConditionTrue, "HealthCheckSuccessful")
		return providerStatus(n)
	}).
		Should(MatchJSON(`{"apiVersion":"example.trellis.network/v1","kind":"NetworkStatus","config":{"controller":4},"components":{"agent":true}}`),
			"a component that is no more is taken out, and nothing else")
	e.Expect(n.Status.State).NotTo(BeNil())
}

func TestOthersConditionsStay(t *testing.T) {
	contract.Shows(t, "H6")
	e := setup(t, often)
	e.daemonSet("agent", plain)
	n := e.network()
	e.patchStatus(n, func(n *extensionsv1alpha1.Network) {
		n.Status.Conditions = []corev1beta1.Condition{{
			Type: "ControlPlaneHealthy", Status: corev1beta1.ConditionTrue, Reason: "Fine", Message: "fine",
			LastTransitionTime: metav1.NewTime(noon), LastUpdateTime: metav1.NewTime(noon)}}
	})
	e.keep(n, e.component("agent", "DaemonSet", "agent"))
	e.becomes(n, corev1beta1.ConditionTrue, "HealthCheckSuccessful")
	e.Expect(n.Status.Conditions).To(HaveLen(2))
	e.Expect(n.Status.Conditions[0].Type).To(Equal("ControlPlaneHealthy"))
}

// Invariant 5.
func TestAnUnchangedNetworkCostsNoRequest(t *testing.T) {
	e := setup(t, often)
	e.daemonSet("agent", plain)
	n := e.network(e.component("agent", "DaemonSet", "agent"))
	e.becomes(n, corev1beta1.ConditionTrue, "HealthCheckSuccessful")
	e.requests.Forget()
	e.stays(n)
	e.Expect(e.aboutNetworks()).To(BeEmpty())
}

// What an earlier extension left there is not ours to remove, and no reason to
// write for ever.
func TestForeignComponentsCostNoRequest(t *testing.T) {
	e := setup(t, often)
	e.daemonSet("agent", plain)
	n := e.network()
	e.patchStatus(n, func(n *extensionsv1alpha1.Network) {
		n.Status.ProviderStatus = &runtime.RawExtension{Raw: []byte(`{"components":{"other":true,"odd":"text"}}`)}
	})
	e.keep(n, e.component("agent", "DaemonSet", "agent"))
	e.becomes(n, corev1beta1.ConditionTrue, "HealthCheckSuccessful")
	e.Expect(providerStatus(n)).To(MatchJSON(`{"components":{"agent":true,"other":true,"odd":"text"}}`))
	e.stays(n)
	e.requests.Forget()
	e.stays(n)
	e.Expect(e.aboutNetworks()).To(BeEmpty())
}
