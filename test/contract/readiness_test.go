// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"errors"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/internal/controller/network"
)

// givesUp has the gardenlet wait while nothing happens.
func (p *controlPlane) givesUp() *gaveUpError {
	p.t.Helper()
	goOn := p.standstill()
	defer goOn()
	gaveUp := &gaveUpError{}
	p.Expect(errors.As(p.gardenlet.WaitReady(p.t.Context()), &gaveUp)).To(BeTrue())
	return gaveUp
}

// A Network is ready only by what happened after it was asked for, to the
// second. Trellis' clock may be behind the gardenlet's by less than that.
func TestTheTimeOfAnOperationCounts(t *testing.T) {
	Shows(t, "C2")
	inBothSchemas(t, func(t *testing.T, in, _, shoot *cluster) {
		asked := time.Date(2026, 1, 1, 12, 0, 5, 987654321, time.UTC)
		gardenlets, trellis := clocktesting.NewFakePassiveClock(asked), clocktesting.NewFakePassiveClock(asked.Truncate(time.Second))
		p := newControlPlane(t, in, shoot, newNamespace(), at(gardenlets), func(_ *controlPlane, options *network.Options) { options.Clock = trellis })
		p.deploys()
		p.ready()
		p.Expect(p.now().Annotations).To(HaveKeyWithValue("gardener.cloud/timestamp", "2026-01-01T12:00:05.987654321Z"))

		gardenlets.SetTime(asked.Add(time.Second))
		p.deploys()
		p.Eventually(func() string { return p.now().Annotations["gardener.cloud/operation"] }).Should(BeEmpty())
		p.becomes("Reconcile", "Succeeded")
		gaveUp := p.givesUp()
		p.Expect(gaveUp.Last.Class).To(Equal(minorProblem))
		p.Expect(gaveUp.Last.Message).To(HavePrefix("the last operation is of 2026-01-01T12:00:05Z, before it was asked for"))

		trellis.SetTime(asked.Add(time.Second))
		p.deploys()
		p.ready()
	})
}

// A gardenlet waits for an operation that it asked for until it is picked up. Trellis also
// picks up what the gardenlet asks for while Trellis works, be it the same or something
// new.
func TestEachRequestIsPickedUp(t *testing.T) {
	Shows(t, "C3")
	inBothSchemas(t, func(t *testing.T, in, _, shoot *cluster) {
		p := newControlPlane(t, in, shoot, newNamespace())
		release := p.resources.Hold()
		p.deploys()
		p.becomes("Create", "Processing")
		p.trellis.stop()
		p.deploys()
		gaveUp := p.givesUp()
		p.Expect(gaveUp.Last.Message).To(Equal("observed generation outdated (0/1)"))
		p.start()
		p.becomes("Create", "Processing")
		p.deploys()
		p.becomes("Create", "Processing")
		p.wants("mode", "second")
		p.deploys()
		p.becomes("Create", "Processing")
		p.wants("mode", "first")
		p.deploys()
		release()
		p.ready()
		p.Expect(p.mode()).To(Equal("first"))

		p.trellis.stop()
		p.deploys()
		p.Expect(p.givesUp().Last.Message).To(Equal(`gardener operation "reconcile" is not yet picked up by controller`))
		p.start()
		p.ready()

		// At the moment when the resource manager is through, which is any of these.
		for _, mode := range []string{"north", "east", "south", "west"} {
			p.wants("mode", mode)
			passes := len(p.resources.Applied())
			p.deploys()
			p.Eventually(func() int { return len(p.resources.Applied()) }).Should(BeNumerically(">", passes))
			p.deploys()
			p.ready()
			p.Expect(p.mode()).To(Equal(mode))
		}
	})
}

// An operation that is no Network's stays, and keeps the gardenlet
// waiting; its next request replaces it.
func TestForeignOperationsAreNotAnswered(t *testing.T) {
	Shows(t, "C3")
	inBothSchemas(t, func(t *testing.T, in, _, shoot *cluster) {
		p := newControlPlane(t, in, shoot, newNamespace())
		p.deploys()
		p.ready()
		p.edit(func(n *extensionsv1alpha1.Network) { n.Annotations["gardener.cloud/operation"] = "keepalive" })
		p.Expect(p.givesUp().Last.Message).To(Equal(`gardener operation "keepalive" is not yet picked up by controller`))
		p.deploys()
		p.ready()
	})
}

// edit changes the Network as a client other than its gardenlet would.
func (p *controlPlane) edit(change func(*extensionsv1alpha1.Network)) {
	p.t.Helper()
	n := p.now()
	before := n.DeepCopy()
	change(n)
	p.Expect(p.seed.client.Patch(p.t.Context(), n, client.MergeFrom(before))).To(Succeed())
}

// An operator that ends in the middle and starts again misleads no client,
// wherever it ends.
func TestRestartsAreNotMisleading(t *testing.T) {
	Shows(t, "N19")
	inBothSchemas(t, func(t *testing.T, in, _, shoot *cluster) {
		p := newControlPlane(t, in, shoot, newNamespace())
		for i, mode := range []string{"north", "unsupported", "east", "south", "west"} {
			p.wants("mode", mode)
			p.deploys()
			for range i {
				_, err := p.observer.next(t.Context())
				p.Expect(err).NotTo(HaveOccurred())
			}
			p.observer.again()
			p.trellis.stop()
			p.start()
			if mode == "unsupported" {
				p.becomes("Reconcile", "Error")
				continue
			}
			p.ready()
			p.Expect(p.mode()).To(Equal(mode))
		}
	})
}

// While a Network is being deleted, what others write into its status is
// nothing to Trellis; a new timestamp is.
func TestADeletedNetworkIsLookedAtWhenAsked(t *testing.T) {
	Shows(t, "N20")
	inBothSchemas(t, func(t *testing.T, in, _, shoot *cluster) {
		p := newControlPlane(t, in, shoot, newNamespace())
		p.deploys()
		p.ready()
		release := p.resources.Hold()
		p.observer.forget()
		p.Expect(p.gardenlet.Delete(t.Context())).To(Succeed())
		p.becomes("Delete", "Processing")
		looks := func() int { return len(p.requestsAbout("resources.gardener.cloud")) }
		p.Eventually(looks).ShouldNot(BeZero())
		p.quiet(looks)
		before := looks()
		n := p.now()
		patch := client.MergeFrom(n.DeepCopy())
		n.Status.Resources = nil
		n.Status.Conditions = append(n.Status.Conditions[:0:0], n.Status.Conditions...)
		for i := range n.Status.Conditions {
			n.Status.Conditions[i].LastUpdateTime = metav1.NewTime(time.Now().Add(time.Hour))
		}
		p.Expect(p.seed.client.Status().Patch(t.Context(), n, patch)).To(Succeed())
		p.quiet(looks)
		p.Expect(looks()).To(Equal(before))
		p.Expect(p.gardenlet.Delete(t.Context())).To(Succeed())
		p.Eventually(looks).Should(BeNumerically(">", before))
		release()
		p.Expect(p.gardenlet.WaitGone(t.Context())).To(Succeed())
	})
}

// quiet waits until a number does not change any more.
func (p *controlPlane) quiet(number func() int) {
	p.t.Helper()
	last := -1
	p.Eventually(func() bool {
		before := last
		last = number()
		return before == last
	}).WithPolling(300 * time.Millisecond).Should(BeTrue())
}
