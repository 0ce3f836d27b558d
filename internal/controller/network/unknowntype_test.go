// SPDX-License-Identifier: Apache-2.0

package network_test

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/internal/controller/network"
	"github.com/trellis-network/trellis/internal/controller/shoot"
	"github.com/trellis-network/trellis/test/contract"
	"github.com/trellis-network/trellis/test/harness"
)

func ofOperator(operator string) func(*network.Options) {
	return func(options *network.Options) { options.Operator = operator }
}

func ofType(name string) func(*extensionsv1alpha1.Network) {
	return func(n *extensionsv1alpha1.Network) { n.Spec.Type = name }
}

// Standalone, no other extension would tell the user about a wrong type. It may be that of
// another operator, which gets half a minute to take the Network.
func TestUnknownTypesAreErrorsWhenStandalone(t *testing.T) {
	contract.Shows(t, "N22")
	clock := clocktesting.NewFakePassiveClock(time.Now())
	e := setup(t, at(clock), ofOperator("one"))
	n := e.network(ofType("rope"))
	e.stays(n)
	e.Expect(n.Status.LastOperation).To(BeNil())
	clock.SetTime(n.CreationTimestamp.Add(30 * time.Second))
	e.restart()
	e.becomes(n, create, erroneous)
	e.Expect(n.Status.LastError.Description).To(ContainSubstring(`spec.type: Unsupported value: "rope": supported values: "example" by the operator one; no other operator has taken the Network within 30s`))
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

// Of several operators without the type, one tells. They do not write their own types over each
// other's, not even when they start again.
func TestOneOperatorTellsOfAnUnknownType(t *testing.T) {
	e := setup(t, at(clocktesting.NewFakePassiveClock(time.Now().Add(time.Hour))), ofOperator("one"))
	e.stop()
	n := e.network(ofType("rope"))
	const told = `Error reconciling Network: spec.type: Unsupported value: "rope": supported values: "wool" by the operator two`
	harness.ChangeStatus(t, e.client, n, func(n *extensionsv1alpha1.Network) {
		n.Status.ObservedGeneration = n.Generation
		n.Status.LastOperation = &corev1beta1.LastOperation{Type: create, State: erroneous, Progress: 50, Description: told, LastUpdateTime: metav1.Now()}
	})
	e.requests.Forget()
	e.stop = e.start()
	e.stays(n)
	e.Expect(e.requests.Writes()).To(BeEmpty())
	e.patch(n, withConfig(`{"strands":3}`))
	e.Eventually(func() string { e.get(n); return n.Status.LastOperation.Description }).Should(ContainSubstring("by the operator one"))
}

// An operator leaves the networks of a control plane that another one has, also of types that
// both have, and takes them up again with the control plane.
func TestNetworksOfAnotherOperatorsControlPlaneAreLeftAlone(t *testing.T) {
	e := setup(t, func(options *network.Options) {
		options.IsOthers = func(ctx context.Context, namespace string) bool {
			return shoot.OperatorOf(ctx, landscape.Seed(t), namespace) == "two"
		}
	})
	label := func(operator string) {
		harness.Change(t, e.client, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: e.namespace}}, func(n *corev1.Namespace) {
			metav1.SetMetaDataLabel(&n.ObjectMeta, shoot.OperatorLabel, operator)
		})
	}
	label("two")
	n := e.network()
	e.stays(n)
	label("one")
	e.applied()
	e.becomes(n, create, fine)
	label("two")
	e.requests.Forget()
	e.patch(n, withConfig(`{"backend":"hemp"}`))
	e.stays(n)
	e.Expect(e.requests.Writes()).To(BeEmpty())
	label("one")
	e.becomes(n, again, corev1beta1.LastOperationStateProcessing)
}
