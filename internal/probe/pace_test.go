// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"pgregory.net/rapid"
)

func TestNewsAreReportedSoonerThanNothingNew(t *testing.T) {
	g := NewWithT(t)
	p := pace{gap: 10 * time.Second, interval: time.Minute, chance: func() float64 { return 1 }}
	p.begin(start)
	one := Tested{Target: Target{Name: "a"}}
	g.Expect(p.next(nil)).To(Equal(start.Add(10*time.Second)), "the first report")
	attempts(&one.History, true)
	p.succeeded(start, []Tested{one})
	g.Expect(p.next([]Tested{one})).To(Equal(start.Add(54 * time.Second)))
	another := one
	another.Name = "b"
	g.Expect(p.next([]Tested{another})).To(Equal(start.Add(54*time.Second)), "a peer instead of another")
	g.Expect(p.next([]Tested{one, another})).To(Equal(start.Add(10*time.Second)), "one more")
	attempts(&one.History, false, false)
	g.Expect(p.next([]Tested{one})).To(Equal(start.Add(10*time.Second)), "it fails")
	p.succeeded(start, []Tested{one})
	g.Expect(p.next([]Tested{one})).To(Equal(start.Add(54*time.Second)), "it still fails")
	g.Expect(p.next(nil)).To(Equal(start.Add(10*time.Second)), "the one that failed is gone")
}

func TestReportsThatFailAreRepeatedMoreAndMoreSlowly(t *testing.T) {
	g := NewWithT(t)
	p := pace{gap: 10 * time.Second, interval: time.Minute, chance: func() float64 { return 0 }}
	var delays []time.Duration
	for range 6 {
		p.failed(start, 0)
		delays = append(delays, p.next(nil).Sub(start))
	}
	g.Expect(delays).To(Equal([]time.Duration{2500 * time.Millisecond, 5 * time.Second, 10 * time.Second, 10 * time.Second, 10 * time.Second, 10 * time.Second}))
	p.failed(start, 50*time.Second)
	g.Expect(p.next(nil)).To(Equal(start.Add(50*time.Second)), "as the API server asks")
	p.failed(start, time.Hour)
	g.Expect(p.next(nil)).To(Equal(start.Add(time.Minute)), "but not for ever")
}

func TestRetriesAreSpreadAndBounded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		delay := retry(rapid.IntRange(1, 1000).Draw(t, "failures"), 0, rapid.Float64Range(0, 1).Draw(t, "chance"))
		NewWithT(t).Expect(delay).To(And(BeNumerically(">=", firstRetry/2), BeNumerically("<=", maxRetry)))
	})
}

// The bytes that all probes read in a minute grow with the number of nodes and not with its
// square, since probes read a longer list less often.
func TestLongerListsAreReadLessOften(t *testing.T) {
	g := NewWithT(t)
	g.Expect([]time.Duration{refreshPeriod(0), refreshPeriod(99), refreshPeriod(100), refreshPeriod(999), refreshPeriod(5000)}).
		To(Equal([]time.Duration{time.Minute, time.Minute, 2 * time.Minute, 10 * time.Minute, 10 * time.Minute}))
	rapid.Check(t, func(t *rapid.T) {
		peers := rapid.IntRange(1, 999).Draw(t, "peers")
		endpointsAMinute := float64(peers*peers) / refreshPeriod(peers).Minutes()
		NewWithT(t).Expect(endpointsAMinute).To(BeNumerically("<=", 100*peers))
	})
	var early []time.Duration
	for reads := range 6 {
		early = append(early, nextRefresh(reads, 50))
	}
	g.Expect(early).To(Equal([]time.Duration{5 * time.Second, 10 * time.Second, 20 * time.Second, 40 * time.Second, time.Minute, time.Minute}))
}
