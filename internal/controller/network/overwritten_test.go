// SPDX-License-Identifier: Apache-2.0

package network_test

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	resourcesv1alpha1 "github.com/trellis-network/trellis/api/resources/v1alpha1"
	"github.com/trellis-network/trellis/test/harness"
)

// In a landscape, a former extension for the same type of networks may still run, and write the same
// ManagedResources. Trellis corrects that, and tells it each time.
func TestAnotherOperatorOfTheSameTypeIsTold(t *testing.T) {
	e := setup(t, inGardener)
	n := e.finished(asking(extensionsv1alpha1.OperationReconcile))
	ours := e.secret().Name
	e.Expect(e.client.Create(t.Context(), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: e.namespace, Name: "theirs"}, Data: map[string][]byte{"config.yaml": []byte("{}")},
	})).To(Succeed())
	harness.Change(t, e.client, e.managedResource(), func(mr *resourcesv1alpha1.ManagedResource) {
		mr.Spec.SecretRefs = []corev1.LocalObjectReference{{Name: "theirs"}}
	})
	e.Eventually(func() string { return e.secret().Name }).Should(Equal(ours))
	e.Eventually(e.events).Should(ContainElement("Warning OperatorConflict: Something else has given the ManagedResource example-config other content, " +
		`which is corrected now. If that is another operator for networks of the type "example", stop one of the two: only one may have it.`))
	e.applied()
	e.becomes(n, again, fine)
}

// What this operator writes, and what users ask for, is told as nothing else's.
func TestOwnChangesAreNoConflict(t *testing.T) {
	e := setup(t, inGardener)
	asked := asking(extensionsv1alpha1.OperationReconcile)
	n := e.finished(asked)
	e.change(n, asked)
	e.applied()
	e.becomes(n, again, fine)
	e.Expect(e.client.Delete(t.Context(), e.secret())).To(Succeed())
	e.restart()
	e.isBack(e.secret())
	e.stays(n)
	e.Expect(e.events()).NotTo(ContainElement(ContainSubstring("OperatorConflict")))
}
