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
		p := settle(t, here, shoot, newNamespace())
		isCreated(p)
		isChanged(p)
		fails(p)
		q := moves(p, there)
		isDeleted(q)
		p.Expect(p.isGone(shoot.client, configMap(p.namespace, "route", ""))).To(BeTrue())
	})
}

// isCreated has the Network wait for the resource manager, and the gardenlet for
// the Network.
func isCreated(p *place) {
	p.t.Helper()
	release := p.resources.Hold()
	p.deploys()
	n := p.becomes("Create", "Processing")
	p.Expect(n.Status.LastOperation.Progress).To(BeEquivalentTo(1))
	p.Expect(n.Finalizers).To(ConsistOf("extensions.gardener.cloud/network"))
	p.Expect(p.givesUp().After.Minutes()).To(BeEquivalentTo(3), "nothing is applied, so nothing has succeeded")
	release()
	p.ready()
	p.Expect(p.route()).To(Equal("home"))
	n = p.now()
	p.Expect(string(n.Status.LastOperation.Type)).To(Equal("Create"))
	p.Expect(n.Status.LastOperation.Progress).To(BeEquivalentTo(100))
	p.Expect(n.Status.IPFamilies).To(ConsistOf(extensionsv1alpha1.IPv4))
}

// isChanged reconciles the Network, first as it is and then changed.
func isChanged(p *place) {
	p.t.Helper()
	p.deploys()
	p.ready()
	p.Expect(string(p.now().Status.LastOperation.Type)).To(Equal("Reconcile"))
	p.wants("route", "away", "loft", "attic", "coop", "cellar")
	p.deploys()
	p.ready()
	p.Expect(p.route()).To(Equal("away"))
	p.Eventually(func() bool { return p.isGone(p.seed.client, p.coop()) }).Should(BeFalse())
	p.wants("route", "away")
	p.deploys()
	p.ready()
	p.Expect(p.isGone(p.shoot.client, configMap(p.namespace, "loft", ""))).To(BeTrue())
	p.Eventually(func() bool { return p.isGone(p.seed.client, p.coop()) }).Should(BeTrue())
}

// fails has the Network fail and be corrected. The gardenlet tells of the error
// long before its patience is over, and a correction is no error.
func fails(p *place) {
	p.t.Helper()
	p.wants("route", "nowhere")
	p.deploys()
	p.becomes("Reconcile", "Error")
	gaveUp := p.givesUp()
	p.Expect(gaveUp.Polls).To(Equal(7))
	p.Expect(gaveUp.After.Seconds()).To(BeEquivalentTo(30))
	p.Expect(gaveUp.Last.Message).To(ContainSubstring(`spec.providerConfig.route: Unsupported value: "nowhere"`))
	p.Expect(gaveUp.Last.Codes).To(ConsistOf("ERR_CONFIGURATION_PROBLEM"))
	p.Expect(p.route()).To(Equal("away"), "what runs goes on running")

	p.wants("route", "astray")
	p.deploys()
	p.ready()
	p.Expect(p.route()).To(Equal("astray"))
}

// moves migrates the Network to another seed. Its objects in the shoot stay.
func moves(p *place, there *cluster) *place {
	p.t.Helper()
	flock := inShoot(p, daemonSet(p.namespace, &pigeonConfig{}))
	p.witness.forget()
	p.Expect(p.gardenlet.Migrate(p.t.Context())).To(Succeed())
	p.Expect(p.gardenlet.WaitMigrated(p.t.Context())).To(Succeed())
	saved, err := p.gardenlet.Save(p.t.Context())
	p.Expect(err).NotTo(HaveOccurred())
	p.Expect(saved.State).NotTo(BeNil())
	p.Expect(p.gardenlet.Delete(p.t.Context())).To(Succeed())
	p.Expect(p.gardenlet.WaitGone(p.t.Context())).To(Succeed())
	p.Expect(p.route()).To(Equal("astray"))

	q := settle(p.t, there, p.shoot, p.namespace)
	q.gardenlet.Spec = p.gardenlet.Spec
	q.witness.forget()
	q.Expect(q.gardenlet.Restore(q.t.Context(), saved)).To(Succeed())
	q.ready()
	n := q.now()
	q.Expect(string(n.Status.LastOperation.Type)).To(Equal("Restore"))
	q.Expect(q.route()).To(Equal("astray"))
	moved := inShoot(q, daemonSet(q.namespace, &pigeonConfig{}))
	q.Expect(moved.UID).To(Equal(flock.UID))
	q.Expect(moved.Generation).To(Equal(flock.Generation), "nothing is rolled out")
	return q
}

// isDeleted deletes the Network.
func isDeleted(p *place) {
	p.t.Helper()
	p.witness.forget()
	p.Expect(p.gardenlet.Delete(p.t.Context())).To(Succeed())
	p.Expect(p.gardenlet.WaitGone(p.t.Context())).To(Succeed())
}

// coop is the object that a network may have in the seed.
func (p *place) coop() *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, Name: p.namespace + "-coop"}}
}
