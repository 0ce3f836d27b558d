// SPDX-License-Identifier: Apache-2.0

package network_test

import (
	"testing"

	. "github.com/onsi/gomega"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/test/contract"
)

// answered waits until a request to reconcile is taken away.
func (e *env) answered(n *extensionsv1alpha1.Network) {
	e.t.Helper()
	e.Eventually(func() map[string]string { e.get(n); return n.Annotations }).ShouldNot(HaveKey(extensionsv1alpha1.OperationAnnotation))
}

// The controller takes a request to reconcile away before it looks whether there is
// anything to do. Nothing comes of it, and nothing else changes, for a failed shoot, a
// control plane that has moved away, and a Network that others hold.
func TestARequestIsTakenAwayFromWhatIsLeftAlone(t *testing.T) {
	contract.Shows(t, "N11", "N14", "N17", "N34")
	for name, leave := range map[string]func(e *env) *extensionsv1alpha1.Network{
		"a failed shoot": func(e *env) *extensionsv1alpha1.Network {
			n := e.finished(asking("reconcile"))
			e.cluster(func(s *corev1beta1.Shoot) {
				s.Status.LastOperation = &corev1beta1.LastOperation{State: corev1beta1.LastOperationStateFailed, Type: create}
			})
			return n
		},
		"a control plane that has left": func(e *env) *extensionsv1alpha1.Network {
			n := e.network(asking("migrate"))
			e.becomes(n, migrating, fine)
			e.answered(n)
			return n
		},
		"a Network that others hold": func(e *env) *extensionsv1alpha1.Network {
			n := e.network(asking("migrate"))
			e.becomes(n, migrating, fine)
			e.answered(n)
			e.patch(n, func(n *extensionsv1alpha1.Network) { n.Finalizers = []string{"example.org/another"} })
			e.Expect(e.client.Delete(e.t.Context(), n)).To(Succeed())
			return n
		},
	} {
		t.Run(name, func(t *testing.T) {
			e := setup(t, inGardener)
			n := leave(e)
			e.get(n)
			status := n.Status.DeepCopy()
			e.patch(n, asking("reconcile"))
			e.answered(n)
			e.stays(n)
			e.Expect(n.Status).To(Equal(*status))
			e.cluster(func(*corev1beta1.Shoot) {})
			e.stays(n)
		})
	}
}

// A request that comes before its Cluster is taken away as well, and carried out once
// the Cluster is there.
func TestARequestThatComesBeforeItsClusterIsKept(t *testing.T) {
	contract.Shows(t, "N16")
	e := setup(t, inGardener)
	n := e.finished(asking("reconcile"))
	status := n.Status.DeepCopy()
	e.Expect(e.client.Delete(t.Context(), &extensionsv1alpha1.Cluster{ObjectMeta: named(e.namespace)})).To(Succeed())
	e.patch(n, func(n *extensionsv1alpha1.Network) { withConfig(`{"backend":"none"}`)(n); asking("reconcile")(n) })
	e.answered(n)
	e.stays(n)
	e.Expect(e.kept(n).PendingRequest).To(BeTrue())
	n.Status.State = status.State
	e.Expect(n.Status).To(Equal(*status), "users are told nothing")
	e.restart()
	e.cluster(func(*corev1beta1.Shoot) {})
	e.Eventually(func() int64 { return e.managedResource().Generation }).Should(BeEquivalentTo(2))
	e.applied()
	e.becomes(n, again, fine)
	e.Expect(string(n.Status.ProviderStatus.Raw)).To(ContainSubstring(`"backend":"none"`))
	e.Expect(e.kept(n).PendingRequest).To(BeFalse())
}

// One that comes while a Network is being deleted is no reason to do anything else.
func TestARequestDoesNotKeepADeletionUp(t *testing.T) {
	e := setup(t, inGardener)
	n := e.finished(asking("reconcile"))
	mr := e.held()
	e.Expect(e.client.Delete(t.Context(), n)).To(Succeed())
	e.becomes(n, deleting, working)
	e.patch(n, asking("reconcile"))
	e.answered(n)
	e.Expect(n.Status.LastOperation.Type).To(Equal(deleting))
	e.letGo(mr)
	e.gone(n)
}
