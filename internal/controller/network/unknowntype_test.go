// SPDX-License-Identifier: Apache-2.0

package network_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/test/contract"
	"github.com/trellis-network/trellis/test/harness"
)

func ofType(name string) func(*extensionsv1alpha1.Network) {
	return func(n *extensionsv1alpha1.Network) { n.Spec.Type = name }
}

// Standalone, no other extension would tell the user about a wrong type. It may be that of
// another operator, which gets a minute to take the Network.
func TestUnknownTypesAreErrorsWhenStandalone(t *testing.T) {
	contract.Shows(t, "N22")
	clock := clocktesting.NewFakePassiveClock(time.Now())
	e := setup(t, at(clock))
	n := e.network(ofType("rope"))
	e.stays(n)
	e.Expect(n.Status.LastOperation).To(BeNil())
	clock.SetTime(time.Now().Add(time.Minute))
	e.restart()
	e.becomes(n, create, erroneous)
	e.Expect(n.Status.LastError.Description).To(ContainSubstring(`spec.type: Unsupported value: "rope": supported values: "example"`))
	e.Expect(n.Status.LastError.Codes).To(ConsistOf(corev1beta1.ErrorConfigurationProblem))
	e.stays(n)
	e.Expect(e.client.Delete(t.Context(), n)).To(Succeed())
	e.gone(n)
}

// What another operator has taken is left alone in every stage of its life.
func TestANetworkOfAnotherOperatorIsLeftAlone(t *testing.T) {
	contract.Shows(t, "N22")
	e := setup(t, at(clocktesting.NewFakePassiveClock(time.Now().Add(time.Hour))))
	e.stop()
	n := e.network(ofType("rope"), func(n *extensionsv1alpha1.Network) { n.Finalizers = []string{extensionsv1alpha1.NetworkFinalizer} })
	harness.ChangeStatus(t, e.client, n, func(n *extensionsv1alpha1.Network) {
		n.Status.LastOperation = &corev1beta1.LastOperation{
			Type: create, State: fine, Progress: 100, Description: "Successfully reconciled Network", LastUpdateTime: metav1.Now(),
		}
	})
	e.requests.Forget()
	e.stop = e.start()
	for _, change := range []func(*extensionsv1alpha1.Network){
		withConfig(`{"strands":3}`), asking("reconcile"), asking("migrate"), asking("restore"),
		func(n *extensionsv1alpha1.Network) { n.Status.LastOperation = nil },
	} {
		e.patch(n, change)
		e.stays(n)
	}
	e.Expect(e.client.Delete(t.Context(), n)).To(Succeed())
	e.get(n)
	e.stays(n)
	e.Expect(e.requests.All()).To(BeEmpty())
	e.patch(n, func(n *extensionsv1alpha1.Network) { n.Finalizers = nil })
	e.gone(n)
}
