// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
)

// The whole life of a Network, with a seed to move to.
func TestTheLifeOfANetwork(t *testing.T) {
	Shows(t, "C4", "N1", "N2", "N4", "N5", "N7", "N9", "N10", "N13", "N24", "N30", "N31", "N37", "T1", "T2", "T3")
	t.Parallel()
	inBothSchemas(t, func(t *testing.T, here, there, shoot *cluster) {
		p := newControlPlane(t, here, shoot, newNamespace())
		isCreated(p)
		isChanged(p)
		fails(p)
		q := moves(p, there)
		isDeleted(q)
		p.Expect(p.isGone(shoot.client, configMap(p.namespace, "mode", ""))).To(BeTrue())
	})
}

// isCreated has the Network wait for the resource manager, and the gardenlet for
// the Network.
func isCreated(p *controlPlane) {
	p.t.Helper()
	release := p.resources.Hold()
	p.deploys()
	n := p.becomes("Create", "Processing")
	p.Expect(n.Status.LastOperation.Progress).To(BeEquivalentTo(1))
	p.Expect(n.Finalizers).To(ConsistOf("extensions.gardener.cloud/network"))
	p.Expect(p.givesUp().After.Minutes()).To(BeEquivalentTo(3), "nothing is applied, so nothing has succeeded")
	release()
	p.ready()
	p.Expect(p.mode()).To(Equal("first"))
	n = p.now()
	p.Expect(string(n.Status.LastOperation.Type)).To(Equal("Create"))
	p.Expect(n.Status.LastOperation.Progress).To(BeEquivalentTo(100))
	p.Expect(n.Status.IPFamilies).To(ConsistOf(extensionsv1alpha1.IPv4))
}

// isChanged reconciles the Network, first as it is and then changed.
func isChanged(p *controlPlane) {
	p.t.Helper()
	p.deploys()
	p.ready()
	p.Expect(string(p.now().Status.LastOperation.Type)).To(Equal("Reconcile"))
	p.wants("mode", "second", "extra", "more", "monitoring", "on")
	p.deploys()
	p.ready()
	p.Expect(p.mode()).To(Equal("second"))
	p.Eventually(func() bool { return p.isGone(p.seed.client, p.monitoring()) }).Should(BeFalse())
	p.wants("mode", "second")
	p.deploys()
	p.ready()
	p.Expect(p.isGone(p.shoot.client, configMap(p.namespace, "extra", ""))).To(BeTrue())
	p.Eventually(func() bool { return p.isGone(p.seed.client, p.monitoring()) }).Should(BeTrue())
}

// fails has the Network fail and be corrected. The gardenlet tells of the error
// long before its patience is over, and a correction is no error.
func fails(p *controlPlane) {
	p.t.Helper()
	p.wants("mode", "unsupported")
	p.deploys()
	p.becomes("Reconcile", "Error")
	gaveUp := p.givesUp()
	p.Expect(gaveUp.Polls).To(Equal(7))
	p.Expect(gaveUp.After.Seconds()).To(BeEquivalentTo(30))
	p.Expect(gaveUp.Last.Message).To(ContainSubstring(`spec.providerConfig.mode: Unsupported value: "unsupported"`))
	p.Expect(gaveUp.Last.Codes).To(ConsistOf("ERR_CONFIGURATION_PROBLEM"))
	p.Expect(p.mode()).To(Equal("second"), "what runs goes on running")

	p.wants("mode", "third")
	p.deploys()
	p.ready()
	p.Expect(p.mode()).To(Equal("third"))
}

// moves migrates the Network to another seed. Its objects in the shoot stay.
func moves(p *controlPlane, there *cluster) *controlPlane {
	p.t.Helper()
	agent := inShoot(p, daemonSet(p.namespace, &exampleConfig{}))
	p.observer.forget()
	p.Expect(p.gardenlet.Migrate(p.t.Context())).To(Succeed())
	p.Expect(p.gardenlet.WaitMigrated(p.t.Context())).To(Succeed())
	saved, err := p.gardenlet.Save(p.t.Context())
	p.Expect(err).NotTo(HaveOccurred())
	p.Expect(saved.State).NotTo(BeNil())
	p.Expect(p.gardenlet.Delete(p.t.Context())).To(Succeed())
	p.Expect(p.gardenlet.WaitGone(p.t.Context())).To(Succeed())
	p.Expect(p.mode()).To(Equal("third"))

	q := newControlPlane(p.t, there, p.shoot, p.namespace)
	q.gardenlet.Spec = p.gardenlet.Spec
	q.observer.forget()
	q.Expect(q.gardenlet.Restore(q.t.Context(), saved)).To(Succeed())
	q.ready()
	n := q.now()
	q.Expect(string(n.Status.LastOperation.Type)).To(Equal("Restore"))
	q.Expect(q.mode()).To(Equal("third"))
	moved := inShoot(q, daemonSet(q.namespace, &exampleConfig{}))
	q.Expect(moved.UID).To(Equal(agent.UID))
	q.Expect(moved.Generation).To(Equal(agent.Generation), "nothing is rolled out")
	return q
}

// isDeleted deletes the Network.
func isDeleted(p *controlPlane) {
	p.t.Helper()
	p.observer.forget()
	p.Expect(p.gardenlet.Delete(p.t.Context())).To(Succeed())
	p.Expect(p.gardenlet.WaitGone(p.t.Context())).To(Succeed())
}

// monitoring is the object that a network may have in the seed.
func (p *controlPlane) monitoring() *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, Name: p.namespace + "-monitoring"}}
}
