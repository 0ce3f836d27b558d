// SPDX-License-Identifier: Apache-2.0

package network_test

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	resourcesv1alpha1 "github.com/trellis-network/trellis/api/resources/v1alpha1"
)

// another leaves a network that another extension has made, with the data of its string.
func (e *env) another(data string) {
	e.Expect(e.client.Create(e.t.Context(), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "before", Namespace: e.namespace},
		Data: map[string][]byte{"objects.yaml": []byte(
			"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: example, namespace: kube-system}\ndata: " + data)},
	})).To(Succeed())
	e.Expect(e.client.Create(e.t.Context(), &resourcesv1alpha1.ManagedResource{
		ObjectMeta: metav1.ObjectMeta{Name: mainName, Namespace: e.namespace},
		Spec:       resourcesv1alpha1.ManagedResourceSpec{SecretRefs: []corev1.LocalObjectReference{{Name: "before"}}},
	})).To(Succeed())
}

// What only a network's objects tell is taken over from the extension that made them, and stays.
func TestANetworkThatIsTakenOverGoesOnWithItsIPAM(t *testing.T) {
	e := setup(t)
	e.another("{content: former, ipam: \" and extras\"}")
	n := e.network()
	e.Eventually(e.written).Should(ContainSubstring("overlay and extras"))
	e.restart()
	e.applied()
	e.becomes(n, "Create", fine)
	e.patch(n, withConfig(`{"backend":"none"}`))
	e.Eventually(e.written).Should(ContainSubstring("none and extras"))
}

// What cannot be read is not replaced by what a new network has.
func TestANetworkIsNotTakenOverBlindly(t *testing.T) {
	e := setup(t)
	e.another("{content: former, ipam: extras}")
	e.Expect(e.client.Delete(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "before", Namespace: e.namespace}})).To(Succeed())
	mr := e.managedResource()
	n := e.network()
	e.becomes(n, "Create", erroneous)
	e.Expect(n.Status.LastError.Description).To(ContainSubstring("find out how the present network was made: read the Secret"))
	e.stays(mr)
}

// What another has carried out goes on to run, though a new network would not be made so,
// and whatever Trellis fails at before it gets that far. What the user changes is judged.
func TestWhatAnotherHasCarriedOutIsAccepted(t *testing.T) {
	e := setup(t)
	e.stop()
	e.another("{content: former}")
	before := &corev1.Secret{}
	e.Expect(e.client.Get(t.Context(), client.ObjectKey{Namespace: e.namespace, Name: "before"}, before)).To(Succeed())
	e.Expect(e.client.Delete(t.Context(), before)).To(Succeed())
	n := e.network(withConfig(`{"backend":"unknown"}`))
	status := n.DeepCopy()
	n.Status.ObservedGeneration = n.Generation
	n.Status.LastOperation = &corev1beta1.LastOperation{Type: create, State: fine, LastUpdateTime: metav1.Now()}
	e.Expect(e.client.Status().Patch(t.Context(), n, client.MergeFrom(status))).To(Succeed())

	e.restart()
	e.becomes(n, again, erroneous)
	before.ResourceVersion = ""
	e.Expect(e.client.Create(t.Context(), before)).To(Succeed())
	e.Eventually(e.written).Should(Equal("unknown"))
	e.Eventually(func(g Gomega) {
		e.get(n)
		e.applied()
		g.Expect(n.Status.LastOperation.State).To(Equal(fine))
		g.Expect(string(n.Status.ProviderStatus.Raw)).To(ContainSubstring("would be refused in a new network"))
	}).Should(Succeed())
	e.patch(n, withConfig(`{"backend":"unknown","extras":"three"}`))
	e.Eventually(e.names).Should(ContainElement(laterName), "what is wrong was so before")
	e.applied()
	e.patch(n, withConfig(`{"backend":"overlay"}`))
	e.Eventually(e.written).Should(Equal("overlay"))
	e.applied()
	e.becomes(n, again, fine)
	e.patch(n, withConfig(`{"backend":"unknown"}`))
	e.becomes(n, again, erroneous)
}
