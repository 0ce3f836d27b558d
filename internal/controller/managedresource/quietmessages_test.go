// SPDX-License-Identifier: Apache-2.0

package managedresource

import (
	"context"
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/events"
	testclock "k8s.io/utils/clock/testing"

	resourcesv1alpha1 "github.com/trellis-network/trellis/api/resources/v1alpha1"
	"github.com/trellis-network/trellis/internal/condition"
	"github.com/trellis-network/trellis/internal/outcome"
	"github.com/trellis-network/trellis/internal/shootclient"
)

// talkativeShoots fail each time with another message.
type talkativeShoots struct {
	Shoots
	failures int
	fail     func(err error) error
}

func (s *talkativeShoots) For(context.Context, string) (*shootclient.Shoot, error) {
	s.failures++
	return nil, s.fail(fmt.Errorf("the etcd failed the %dth time", s.failures))
}

// A cluster that gives another reason for its failure each time does not decide how often the
// seed is written to. What else changes is told at once, and the newest message in its time.
func TestAMessageAloneIsToldOnceAMinute(t *testing.T) {
	e := newEnv(t)
	unreachable := func(err error) error { return &shootclient.UnreachableError{Err: err} }
	shoots := &talkativeShoots{fail: unreachable}
	r := e.timed(e.state("network", e.configMap("one")), shoots)
	tells := func(n int, because string) {
		t.Helper()
		e.Expect(r.writes).To(Equal(n), because)
		e.Expect(r.events).To(HaveLen(n), because)
		e.Expect(e.message("network", "ResourcesApplied")()).To(HaveSuffix("the etcd failed the %dth time", shoots.failures))
	}

	for range 5 * 60 {
		_, err := r.reconcile()
		e.Expect(err).To(HaveOccurred(), "it is retried with back-off")
		r.pass(time.Second)
	}
	_, _ = r.reconcile()
	tells(6, "the first message, and one for each of five minutes")

	e.state("network", e.configMap("two"))
	_, _ = r.reconcile()
	tells(7, "it is about other content")

	r.pass(20 * time.Second)
	shoots.fail = func(err error) error { return &shootclient.NoAccessError{Err: err} }
	_, _ = r.reconcile()
	tells(8, "it has a code")

	r.pass(20 * time.Second)
	result, err := r.reconcile()
	e.Expect(err).NotTo(HaveOccurred())
	e.Expect(result.RequeueAfter).To(Equal(40*time.Second), "the message is told then, although the sync period is longer")
	e.Expect(r.writes).To(Equal(8))
	r.pass(result.RequeueAfter)
	_, _ = r.reconcile()
	tells(9, "it is a minute later")
}

// A message is not put off if the status is written anyway: it would tell of objects that the
// same status no longer has.
func TestAMessageIsToldWithWhatElseChanges(t *testing.T) {
	g := NewWithT(t)
	clock := testclock.NewFakePassiveClock(time.Now().Truncate(time.Second))
	r := &run{mr: &resourcesv1alpha1.ManagedResource{}, observed: newObservations(""), clock: clock, deleting: true}
	waits := func(left ...string) string {
		r.initial, r.untold = r.mr.DeepCopy(), 0
		r.mr.Status.Resources = nil
		for _, name := range left {
			r.mr.Status.Resources = append(r.mr.Status.Resources, resourcesv1alpha1.ObjectReference{ObjectReference: corev1.ObjectReference{Name: name}})
		}
		r.setConditions(outcome.Wait(fmt.Sprintf("%s are deleted at %s", left, clock.Now()), time.Second))
		r.putOffMessages()
		clock.SetTime(clock.Now().Add(time.Second))
		return condition.Value(r.mr.Status.Conditions, resourcesv1alpha1.ResourcesApplied).Message
	}
	g.Expect(waits("agent", "settings")).To(ContainSubstring("[agent settings]"))
	first := waits("settings")
	g.Expect(first).To(ContainSubstring("[settings]"))
	g.Expect(r.untold).To(BeZero())
	g.Expect(waits("settings")).To(Equal(first), "only the message is new")
	g.Expect(r.untold).To(Equal(quietPeriod - time.Second))
}

// That an object was deleted to be created again is told at once, also when a bundle has several
// such objects, but not as often as a cluster refuses updates.
func TestThatObjectsAreRecreatedIsToldTenTimesAtOnce(t *testing.T) {
	g := NewWithT(t)
	clock, recorder := testclock.NewFakePassiveClock(time.Now().Truncate(time.Second)), events.NewFakeRecorder(100)
	r := &run{mr: &resourcesv1alpha1.ManagedResource{}, observed: newObservations(""), clock: clock}
	refused := func(n int) {
		for i := range n {
			r.initial = r.mr.DeepCopy()
			ended := failed(reasonApplyFailed, &recreating{fmt.Errorf("field %d is immutable", i)})
			r.setConditions(ended)
			r.putOffMessages()
			announce(t.Context(), recorder, r, ended)
			clock.SetTime(clock.Now().Add(time.Millisecond))
		}
	}
	refused(50)
	g.Expect(recorder.Events).To(HaveLen(maxRecreations))
	g.Expect(<-recorder.Events).To(HavePrefix("Warning ObjectRecreated field 0 is immutable; it was deleted and will be created again"))
	clock.SetTime(clock.Now().Add(quietPeriod))
	refused(50)
	g.Expect(recorder.Events).To(HaveLen(maxRecreations))
}
