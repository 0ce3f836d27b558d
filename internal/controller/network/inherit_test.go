// SPDX-License-Identifier: Apache-2.0

package network_test

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	resourcesv1alpha1 "github.com/trellis-network/trellis/api/resources/v1alpha1"
)

// another leaves a network that somebody else has made, with the data of its string.
func (e *env) another(data string) {
	e.Expect(e.client.Create(e.t.Context(), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "before", Namespace: e.namespace},
		Data: map[string][]byte{"objects.yaml": []byte(
			"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: string, namespace: kube-system}\ndata: " + data)},
	})).To(Succeed())
	e.Expect(e.client.Create(e.t.Context(), &resourcesv1alpha1.ManagedResource{
		ObjectMeta: metav1.ObjectMeta{Name: mainName, Namespace: e.namespace},
		Spec:       resourcesv1alpha1.ManagedResourceSpec{SecretRefs: []corev1.LocalObjectReference{{Name: "before"}}},
	})).To(Succeed())
}

// What only a network's objects tell is taken over from whoever made them, and stays.
func TestANetworkThatIsTakenOverGoesOnWithItsIPAM(t *testing.T) {
	e := setup(t)
	e.another("{content: slack, heirloom: \" and knots\"}")
	n := e.network()
	e.Eventually(e.written).Should(ContainSubstring("taut and knots"))
	e.restart()
	e.applied()
	e.becomes(n, "Create", fine)
	e.patch(n, withConfig(`{"backend":"none"}`))
	e.Eventually(e.written).Should(ContainSubstring("none and knots"))
}

// What cannot be read is not replaced by what a new network has.
func TestANetworkIsNotTakenOverBlindly(t *testing.T) {
	e := setup(t)
	e.another("{content: slack, heirloom: knots}")
	e.Expect(e.client.Delete(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "before", Namespace: e.namespace}})).To(Succeed())
	mr := e.managedResource()
	n := e.network()
	e.becomes(n, "Create", erroneous)
	e.Expect(n.Status.LastError.Description).To(ContainSubstring("find out how the network that is there gives pods their addresses: read the Secret"))
	e.stays(mr)
}
