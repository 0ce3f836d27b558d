// SPDX-License-Identifier: Apache-2.0

package network_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/test/contract"
)

func (e *env) hibernated(is bool) {
	e.t.Helper()
	e.cluster(func(s *corev1beta1.Shoot) { s.Spec.Hibernation = &corev1beta1.Hibernation{Enabled: &is} })
}

// Nothing is waited for while the shoot sleeps. Success means applied again once it has woken
// up.
func TestWhatIsWrittenForAHibernatedShootIsAwaitedAfterIt(t *testing.T) {
	contract.Shows(t, "N28")
	e := setup(t)
	e.hibernated(true)
	n := e.network(withConfig(`{"backend":"none"}`))
	e.becomes(n, create, fine)
	e.managedResource()
	e.Expect(e.kept(n).Unapplied).To(BeTrue())
	e.Expect(e.kept(n).Applied).To(BeNil(), "the shoot does not have it")
	e.restart()
	e.stays(n)

	e.hibernated(false)
	e.becomes(n, again, working)
	e.resourceManager(corev1beta1.ConditionFalse, "ApplyFailed", "the quota is exhausted", time.Now().Add(time.Second), corev1beta1.ErrorRetryableConfigurationProblem)
	e.becomes(n, again, erroneous)
	e.applied()
	e.becomes(n, again, fine)
	e.Expect(e.kept(n).Unapplied).To(BeFalse())
	e.Expect(e.kept(n).Applied).NotTo(BeNil())
}

// In a landscape gardenlet asks for a reconciliation when the shoot wakes up. The status is
// true before it does.
func TestInALandscapeWhatIsWrittenForAHibernatedShootIsAwaitedAfterIt(t *testing.T) {
	contract.Shows(t, "N28")
	e := setup(t, inGardener)
	n := e.finished(asking("reconcile"))
	e.hibernated(true)
	e.patch(n, func(n *extensionsv1alpha1.Network) { asking("reconcile")(n); withConfig(`{"backend":"none"}`)(n) })
	e.Eventually(e.written).Should(Equal("none"))
	e.becomes(n, again, fine)
	e.hibernated(false)
	e.patch(n, asking("reconcile"))
	e.becomes(n, again, working)
	e.applied()
	e.becomes(n, again, fine)
	e.Expect(e.kept(n).Unapplied).To(BeFalse())
}

// A shoot that slept and for which nothing was written has its network.
func TestAShootThatOnlySleptIsNotAwaited(t *testing.T) {
	e := setup(t)
	n := e.finished()
	succeeded := n.Status.LastOperation
	for _, is := range []bool{true, false} {
		e.hibernated(is)
		e.Consistently(func() *corev1beta1.LastOperation { e.get(n); return n.Status.LastOperation }, "700ms").Should(Equal(succeeded))
	}
}
