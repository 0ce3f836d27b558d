// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	resourcesv1alpha1 "github.com/trellis-network/trellis/api/resources/v1alpha1"
)

// What the API server of the shoot will never take is an error at once, of the
// user's. The gardenlet tells it after half a minute.
func TestWhatIsRefusedForGoodIsToldAtOnce(t *testing.T) {
	Shows(t, "C4", "N36", "R32")
	t.Parallel()
	p, moved := newControlPlaneWithClock(t)
	p.resources.Refuse(errors.New(`ConfigMap "mode" is invalid: data: Invalid value`))
	p.deploys()
	p.becomes("Create", "Error")
	gaveUp := p.patiently(moved)
	p.Expect(gaveUp.Polls).To(Equal(7))
	p.Expect(gaveUp.Last.Message).To(ContainSubstring(`ConfigMap "mode" is invalid: data: Invalid value`))
	p.Expect(gaveUp.Last.Codes).To(ConsistOf("ERR_CONFIGURATION_PROBLEM"))
	p.resources.Refuse(nil)
	p.deploys()
	p.ready()
}

// What was refused of an earlier spec is no error of the present one, which the
// resource manager has not looked at.
func TestAnOldRefusalIsNotTheNewSpecs(t *testing.T) {
	t.Parallel()
	p, moved := newControlPlaneWithClock(t)
	p.resources.Refuse(errors.New(`ConfigMap "mode" is invalid: data: Invalid value`))
	p.deploys()
	p.becomes("Create", "Error")
	release := p.resources.Hold()
	p.resources.Refuse(nil)
	moved.SetTime(moved.Now().Add(10 * time.Second))
	p.wants("mode", "second")
	p.deploys()
	p.Eventually(func() string { return p.now().Annotations["gardener.cloud/operation"] }).Should(BeEmpty())
	p.quiet(func() int { return len(p.requestsAbout("extensions.gardener.cloud")) })
	n := p.now()
	p.Expect(string(n.Status.LastOperation.State)).To(Equal("Processing"))
	p.Expect(n.Status.ObservedGeneration).To(BeEquivalentTo(1))
	release()
	p.ready()
}

// What fails again and again is told before the gardenlet's patience ends, though
// the condition of Gardener's resource manager begins again with each attempt: it
// becomes Progressing, keeps the reason of the last failure, and is False again.
func TestWhatFailsAgainAndAgainIsTold(t *testing.T) {
	t.Parallel()
	p, moved := newControlPlaneWithClock(t)
	p.resources.Refuse(errors.New("dial tcp 10.2.0.1:443: connection refused"))
	p.deploys()
	p.becomes("Create", "Processing")
	p.Expect(p.patiently(moved).Last.Message).To(ContainSubstring("connection refused"))
	p.resources.Refuse(nil)
	p.deploys()
	p.ready()
}

// An object that does not go away is told as well: until it has gone, Gardener's
// resource manager applies nothing.
func TestAnObjectThatStaysIsTold(t *testing.T) {
	t.Parallel()
	p, moved := newControlPlaneWithClock(t)
	p.wants("mode", "first", "extra", "more")
	p.deploys()
	p.ready()
	stuck := inShoot(p, configMap(p.namespace, "extra", ""))
	hold := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":["example.org/never"]}}`))
	p.Expect(p.shoot.client.Patch(t.Context(), stuck, hold)).To(Succeed())
	letGo := func() error {
		free := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))
		return client.IgnoreNotFound(p.shoot.client.Patch(context.Background(), stuck, free))
	}
	t.Cleanup(func() { _ = letGo() })
	p.wants("mode", "second")
	p.deploys()
	p.becomes("Reconcile", "Processing")
	p.Expect(p.patiently(moved).Last.Message).To(ContainSubstring(p.namespace + "-extra is still pending"))
	p.Expect(letGo()).To(Succeed())
	p.deploys()
	p.ready()
}

// newControlPlaneWithClock makes a control plane whose time only patiently moves.
func newControlPlaneWithClock(t *testing.T) (*controlPlane, *clocktesting.FakePassiveClock) {
	t.Helper()
	_, in, shoot := clusters(t)
	moved := clocktesting.NewFakePassiveClock(time.Now())
	return newControlPlane(t, in, shoot, newNamespace(), at(moved)), moved
}

// patiently has the gardenlet's time pass until it gives up. Between any two of its
// polls the resource manager makes an attempt, and Trellis takes note of it.
func (p *controlPlane) patiently(moved *clocktesting.FakePassiveClock) *gaveUpError {
	p.t.Helper()
	goOn := p.standstill()
	defer goOn()
	now := p.gardenlet.Patience.Poll
	p.gardenlet.Patience.Poll = func(ctx context.Context) (*unstructured.Unstructured, error) {
		moved.SetTime(moved.Now().Add(p.gardenlet.Patience.Interval))
		attempts := p.resources.Attempts()
		p.nudge()
		p.Eventually(p.resources.Attempts).Should(BeNumerically(">", attempts+1))
		return now(ctx)
	}
	gaveUp := &gaveUpError{}
	p.Expect(errors.As(p.gardenlet.WaitReady(p.t.Context()), &gaveUp)).To(BeTrue())
	p.t.Logf("the gardenlet %s", gaveUp)
	return gaveUp
}

// nudge has Trellis look at the Network, as it does by itself when real minutes are
// over.
func (p *controlPlane) nudge() {
	mr := &resourcesv1alpha1.ManagedResource{ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, Name: "example-config"}}
	tick := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"metadata":{"annotations":{"example.org/tick":"%d"}}}`, p.clock.Now().Unix()))
	p.Eventually(func() error { return p.seed.client.Patch(p.t.Context(), mr.DeepCopy(), tick) }).Should(Succeed(), "it may just be about to be made")
}
