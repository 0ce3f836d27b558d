// SPDX-License-Identifier: Apache-2.0

package managedresource

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"

	resourcesv1alpha1 "github.com/trellis-network/trellis/api/resources/v1alpha1"
	"github.com/trellis-network/trellis/internal/shootclient"
	"github.com/trellis-network/trellis/test/contract"
)

// Which ManagedResource a changed object triggers.
func TestEventsTriggerTheirManagedResource(t *testing.T) {
	for origin, triggered := range map[string]string{
		"ns/network":        "ns/network",
		"seed:ns/network":   "",
		"elsewhere/network": "",
		"nothing":           "",
		"":                  "",
	} {
		t.Run(origin, func(t *testing.T) {
			g := NewWithT(t)
			requests, _ := withClock(clocktesting.NewFakePassiveClock(time.Now())).requestsForEvent(shootclient.Event{Namespace: "ns", Origin: origin})
			if triggered == "" {
				g.Expect(requests).To(BeEmpty())
				return
			}
			g.Expect(requests).To(HaveLen(1))
			g.Expect(requests[0].String()).To(Equal(triggered))
		})
	}
}

// withClock returns a Reconciler that only knows the time.
func withClock(clock clock.PassiveClock) *Reconciler {
	return &Reconciler{options: Options{Clock: clock}}
}

// However often the objects of a shoot change, there is one run a second: the first change
// is looked at immediately.
func TestAFloodOfEventsIsGathered(t *testing.T) {
	g := NewWithT(t)
	clock := clocktesting.NewFakePassiveClock(time.Now())
	r := withClock(clock)
	immediately := 0
	const flood, step = 1000, 10 * time.Millisecond
	for range flood {
		_, after := r.requestsForEvent(shootclient.Event{Namespace: "ns", Origin: "ns/network", Change: shootclient.Edited})
		g.Expect(after).To(BeNumerically("<=", statusGatherTime))
		if after == 0 {
			immediately++
		}
		clock.SetTime(clock.Now().Add(step))
	}
	g.Expect(immediately).To(BeNumerically("==", flood*step/statusGatherTime))
	_, after := r.requestsForEvent(shootclient.Event{Namespace: "ns", Origin: "ns/other", Change: shootclient.Deleted})
	g.Expect(after).To(BeZero(), "of another ManagedResource")
}

// While all objects are being deleted, what follows the end of one is deleted soon. A cluster can
// create and delete objects without end meanwhile.
func TestEndsOfObjectsAreGatheredBrieflyDuringADeletion(t *testing.T) {
	g := NewWithT(t)
	clock := clocktesting.NewFakePassiveClock(time.Now())
	r := withClock(clock)
	mr := &resourcesv1alpha1.ManagedResource{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "network"}}
	event := shootclient.Event{Namespace: "ns", Origin: "ns/network", Change: shootclient.Deleted}
	brief := 0
	for range 2 * quickDeletions {
		r.planDeletion(t.Context(), &run{mr: mr}) // each run does
		if _, after := r.requestsForEvent(event); after == deletionGatherTime {
			brief++
		}
	}
	g.Expect(brief).To(Equal(quickDeletions))
	_, after := r.requestsForEvent(event)
	g.Expect(after).To(Equal(statusGatherTime))
	clock.SetTime(clock.Now().Add(statusGatherTime))
	_, after = r.requestsForEvent(event)
	g.Expect(after).To(Equal(deletionGatherTime))
}

func TestTheOriginNamesTheManagedResource(t *testing.T) {
	contract.Shows(t, "R15")
	e := newEnv(t)
	cm := e.configMap("one")
	e.state("network", cm)
	e.operator()
	e.becomesGood("network")
	e.Expect(live(e, cm).Annotations).To(HaveKeyWithValue(resourcesv1alpha1.Origin, e.namespace+"/network"))
}
