// SPDX-License-Identifier: Apache-2.0

package fairness

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	configv1alpha1 "github.com/trellis-network/trellis/api/config/v1alpha1"
	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	resourcesv1alpha1 "github.com/trellis-network/trellis/api/resources/v1alpha1"
	"github.com/trellis-network/trellis/internal/shootclient"
)

const (
	// dead is the number of shoots that do not answer, and alive of those that do.
	dead, alive = 4, 6
	// spare is the number of workers of each controller that remain for the shoots that answer.
	spare = 1
	// forGood is longer than the test.
	forGood = time.Hour
)

// A shoot that does not answer occupies one worker of each controller, even if it has several
// ManagedResources. In this test it occupies the worker until the end. With one worker more
// than there are such shoots, the controllers reconcile all other shoots without a time-out.
func TestDeadShootsHoldOneWorkerEach(t *testing.T) {
	box := small.Get(t)
	settings, err := configv1alpha1.Load([]byte(`{}`))
	if err != nil {
		t.Fatal(err)
	}
	controllers := &settings.Controllers
	for _, workers := range []*int{
		&controllers.Network.ConcurrentSyncs, &controllers.ManagedResource.ConcurrentSyncs, &controllers.Health.ConcurrentSyncs,
	} {
		*workers = dead + spare
	}
	l := newFleet(t, dead+alive, box.Seed.Kubeconfig, box.Seed.Kubeconfig)
	l.SetDefaultEventuallyTimeout(patience)
	l.SetDefaultEventuallyPollingInterval(50 * time.Millisecond)
	for _, gate := range l.gates[:dead] {
		gate.become(expired)
	}
	l.run(t, box.Seed.Kubeconfig, settings, func(o *shootclient.Options) {
		o.ConnectTimeout, o.RequestTimeout, o.RetryAfter = forGood, forGood, 2*time.Second
	})
	l.round = 1
	for i := range dead {
		l.Expect(l.update(l.ctx, i)).To(Succeed())
	}
	for i := range dead {
		l.Eventually(func() string { return l.applied(i, "example") }).Should(Equal("False"), "the operator must have found that shoot %d cannot be reached", i)
		l.Eventually(func() string { return l.applied(i, "example-later") }).Should(Equal("False"))
	}
	for _, gate := range l.gates[:dead] {
		gate.become(blackHole)
	}
	for i, gate := range l.gates[:dead] {
		l.Eventually(gate.holds).Should(Equal(1), "shoot %d must occupy a worker", i)
	}

	for i := dead; i < dead+alive; i++ {
		l.Expect(l.update(l.ctx, i)).To(Succeed())
	}
	l.succeeded()
	l.round = 2
	for i := range dead + alive {
		l.Expect(l.update(l.ctx, i)).To(Succeed())
	}
	l.succeeded()
	for i, gate := range l.gates[:dead] {
		l.Expect(gate.held()).To(Equal(1), "the operator must send shoot %d one request at a time", i)
		l.Expect(l.network(i).Status.LastOperation).NotTo(HaveField("State", corev1beta1.LastOperationStateSucceeded))
	}
}

// succeeded waits until all shoots that answer have the network of this round, and the
// operator has reported their health.
func (l *fleet) succeeded() {
	for i := dead; i < dead+alive; i++ {
		l.Eventually(func(g Gomega) {
			n := l.network(i)
			g.Expect(n.Status.ObservedGeneration).To(Equal(n.Generation))
			g.Expect(n.Status.LastOperation).To(HaveField("State", corev1beta1.LastOperationStateSucceeded))
			g.Expect(n.Status.Conditions).NotTo(BeEmpty())
			g.Expect(l.applied(i, "example-later")).To(Equal("True"))
		}).Should(Succeed(), "shoot %d", i)
	}
}

func (l *fleet) network(i int) *extensionsv1alpha1.Network {
	n := &extensionsv1alpha1.Network{}
	l.Expect(l.seed.Get(l.ctx, client.ObjectKey{Namespace: name(i), Name: "one"}, n)).To(Succeed())
	return n
}

// applied returns the status of a ManagedResource's condition ResourcesApplied, or "" if
// there is none.
func (l *fleet) applied(i int, managed string) string {
	mr := &resourcesv1alpha1.ManagedResource{}
	if l.seed.Get(l.ctx, client.ObjectKey{Namespace: name(i), Name: managed}, mr) != nil {
		return ""
	}
	for _, c := range mr.Status.Conditions {
		if c.Type == resourcesv1alpha1.ResourcesApplied {
			return string(c.Status)
		}
	}
	return ""
}
