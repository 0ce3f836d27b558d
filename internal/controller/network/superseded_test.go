// SPDX-License-Identifier: Apache-2.0

package network_test

import (
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
)

// change makes a finished Network state other content, which is not applied yet. It returns
// the name of the Secret with the former content.
func (e *env) change(n *extensionsv1alpha1.Network, also ...func(*extensionsv1alpha1.Network)) string {
	e.t.Helper()
	former := e.secret().Name
	e.patch(n, func(n *extensionsv1alpha1.Network) {
		for _, change := range append(also, withConfig(`{"backend":"none"}`)) {
			change(n)
		}
	})
	e.Eventually(func() string { return e.secret().Name }).ShouldNot(Equal(former))
	return former
}

func TestASupersededSecretIsDeletedOnceItsSuccessorIsApplied(t *testing.T) {
	e := setup(t)
	n := e.finished()
	former := e.change(n)
	e.stays(e.managedResource())
	e.Expect(e.secrets()).To(ConsistOf(former, e.secret().Name))
	e.applied()
	e.becomes(n, again, fine)
	e.Eventually(e.secrets).Should(ConsistOf(e.secret().Name))
}

// The cache of a process that has just started may be behind, and show a Secret when all else is done.
func TestASupersededSecretThatIsSeenLateIsDeleted(t *testing.T) {
	e := setup(t)
	e.stays(e.finished())
	late := e.secret()
	e.Expect(e.client.Get(t.Context(), keyOf(late), late)).To(Succeed())
	late.ObjectMeta = metav1.ObjectMeta{Namespace: late.Namespace, Name: late.Name + "-former", Labels: late.Labels}
	e.Expect(e.client.Create(t.Context(), late)).To(Succeed())
	e.Eventually(e.secrets).Should(ConsistOf(e.secret().Name))
}

// In a landscape Gardener's garbage collector deletes it.
func TestInALandscapeASupersededSecretStays(t *testing.T) {
	e := setup(t, inGardener)
	n := e.finished(asking(extensionsv1alpha1.OperationReconcile))
	former := e.change(n, asking(extensionsv1alpha1.OperationReconcile))
	e.applied()
	e.becomes(n, again, fine)
	e.stays(n)
	e.Expect(e.secrets()).To(ConsistOf(former, e.secret().Name))
}
