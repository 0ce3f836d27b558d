// SPDX-License-Identifier: Apache-2.0

package slots_test

import (
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/trellis-network/trellis/internal/slots"
)

// Slow clusters share half of the workers, however many they are, and whatever they do in
// between.
func TestSlowClustersShareHalfOfTheWorkers(t *testing.T) {
	const workers, hostile = 20, 30
	g, s, now := NewWithT(t), slots.New(slots.For(workers)), time.Now()
	name := func(i int) string { return fmt.Sprint("hostile-", i) }
	for i := range hostile { // one after the other, each is found to be slow
		leave, admitted := s.Enter(name(i), now)
		g.Expect(admitted).To(BeTrue())
		leave(now.Add(time.Minute))
	}
	now = now.Add(time.Minute)
	leave, admitted := s.Enter(name(0), now)
	g.Expect(admitted).To(BeTrue())
	leave(now) // a quick run between slow ones

	var running []func(time.Time)
	for i := range hostile {
		if leave, admitted := s.Enter(name(i), now); admitted {
			running = append(running, leave)
		}
	}
	g.Expect(running).To(HaveLen(workers / 2))
	leave, admitted = s.Enter("good", now)
	g.Expect(admitted).To(BeTrue())
	leave(now)
	running[0](now)
	_, admitted = s.Enter(name(hostile-1), now)
	g.Expect(admitted).To(BeTrue(), "a worker is free again")

	now = now.Add(time.Hour)
	for _, leave := range running[1:] {
		leave(now.Add(-time.Hour))
	}
	for i := range hostile {
		s.Forget(name(i))
	}
	g.Expect(s.Len()).To(Equal(1), "the one that still runs")
}

// New clusters that hang, however many come at once, leave workers to those that are known.
func TestNewClustersLeaveAQuarterOfTheWorkers(t *testing.T) {
	const workers = 20
	g, s, now := NewWithT(t), slots.New(slots.For(workers)), time.Now()
	leave, _ := s.Enter("good", now)
	leave(now)

	var running []func(time.Time)
	enter := func() {
		for i := range 3 * workers {
			if leave, admitted := s.Enter(fmt.Sprint("new-", i), now); admitted {
				running = append(running, leave)
			}
		}
	}
	enter()
	g.Expect(running).To(HaveLen(workers * 3 / 4))
	now = now.Add(time.Minute)
	enter()
	g.Expect(running).To(HaveLen(workers * 3 / 4))
	_, admitted := s.Enter("good", now)
	g.Expect(admitted).To(BeTrue())

	for _, leave := range running {
		leave(now)
	}
	_, admitted = s.Enter("another", now)
	g.Expect(admitted).To(BeTrue())
	_, admitted = s.Enter("good", now)
	g.Expect(admitted).To(BeTrue(), "a known cluster has as many workers as are free")
}

func TestAClusterIsSlowTenTimesAsLongAsItsRunTook(t *testing.T) {
	g, s, began := NewWithT(t), slots.New(slots.For(4)), time.Now()
	leave, _ := s.Enter("one", began)
	end := began.Add(slots.After)
	leave(end)
	for after, admitted := range map[time.Duration]bool{10*slots.After - 1: false, 10 * slots.After: true} {
		first, _ := s.Enter("one", end.Add(after))
		second, both := s.Enter("one", end.Add(after))
		g.Expect(both).To(Equal(admitted), "%v after the slow run", after)
		first(end)
		if both {
			second(end)
		}
	}
}

// A cluster that was quick and then hangs has no share in the workers of quick ones, also once
// it does not count as slow any more, until it has been quick again.
func TestAClusterThatWasQuickAndHangsIsLikeANewOne(t *testing.T) {
	const workers = 4
	g, s, now := NewWithT(t), slots.New(slots.For(workers)), time.Now()
	leave, _ := s.Enter("moody", now)
	leave(now)
	leave, _ = s.Enter("moody", now)
	now = now.Add(slots.After)
	leave(now)
	leave, _ = s.Enter("moody", now)
	leave(now) // a quick run while it counts as slow does not help
	now = now.Add(10 * slots.After)
	for i := range workers - 1 {
		_, admitted := s.Enter(fmt.Sprint("new-", i), now)
		g.Expect(admitted).To(BeTrue())
	}
	_, admitted := s.Enter("moody", now)
	g.Expect(admitted).To(BeFalse(), "the last worker is for those that are known to be quick")
}
