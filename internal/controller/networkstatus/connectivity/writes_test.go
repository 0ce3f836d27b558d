// SPDX-License-Identifier: Apache-2.0

package connectivity

import (
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"pgregory.net/rapid"

	connectivityv1alpha1 "github.com/trellis-network/trellis/api/connectivity/v1alpha1"
	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
)

// expectOneAMinute expects that there is one write a minute at most, and two more in advance.
func expectOneAMinute(g *WithT, writes []time.Time) {
	for i := range writes {
		for j := range writes[:i] {
			minutes := int(writes[i].Sub(writes[j]) / time.Minute)
			g.ExpectWithOffset(1, i-j+1).To(BeNumerically("<=", 3+minutes), "writes in %d minutes: %v", minutes, writes[j:i+1])
		}
	}
}

// How often the status of a cluster is written in the five minutes after something happened.
func TestAFaultCostsFewWrites(t *testing.T) {
	first := "worker-000"
	for name, c := range map[string]struct {
		happens func(w *world)
		// results is the number of writes in the minute and a half in which results turn, and all that
		// of five minutes.
		results, all int
	}{
		"a link is down":    {func(w *world) { w.cut[first] = true }, 1, 3},
		"a node is killed":  {func(w *world) { w.nodes[first].dead = true }, 1, 3},
		"DNS fails":         {func(w *world) { w.drops = func(_ string, t test, _ string, _ bool) bool { return t.check == "dns" } }, 1, 2},
		"a partition":       {func(w *world) { w.drops = partition }, 1, 2},
		"attempts are lost": {func(w *world) { w.drops = func(string, test, string, bool) bool { return w.random.Float64() < 0.02 } }, 0, 5},
	} {
		for _, nodes := range []int{2, 3, 10, 50} {
			t.Run(fmt.Sprintf("%s/%d nodes", name, nodes), func(t *testing.T) {
				t.Parallel()
				most := 0
				for seed := range uint64(max(2, 20/nodes)) {
					g, w := NewWithT(t), newWorld(seed, nodes)
					w.pass(5*time.Minute + time.Duration(w.random.IntN(60))*time.Second)
					w.writes = nil
					c.happens(w)
					w.pass(90 * time.Second)
					g.Expect(len(w.writes)).To(BeNumerically("<=", c.results), "seed %d: %v", seed, w.writes)
					w.pass(210 * time.Second)
					g.Expect(len(w.writes)).To(BeNumerically("<=", c.all), "seed %d: %v", seed, w.writes)
					expectOneAMinute(g, w.writes)
					most = max(most, len(w.writes))
				}
				t.Logf("%d writes", most)
			})
		}
	}
}

// partition separates the first two nodes from the others.
func partition(from string, t test, to string, _ bool) bool {
	return t.ofNodes() && (from < "worker-002") != (to < "worker-002")
}

// In a cluster in which nothing happens, only the hour of the evidence changes.
func TestAnUnchangedClusterIsWrittenForEachHour(t *testing.T) {
	for _, nodes := range []int{1, 2, 10, 50} {
		g, w := NewWithT(t), newWorld(1, nodes)
		w.pass(5 * time.Minute)
		before := w.published.verdict
		w.writes = nil
		w.pass(54 * time.Minute)
		g.Expect(w.writes).To(BeEmpty())
		w.pass(6 * time.Minute)
		g.Expect(w.writes).To(HaveLen(1))
		after := w.published.verdict
		g.Expect(after.Tests.Summary.Evidence).NotTo(Equal(before.Tests.Summary.Evidence))
		after.Tests.Summary.Evidence = before.Tests.Summary.Evidence
		g.Expect(nearlySame(before, after)).To(BeTrue())
	}
}

// A cluster that alternates is written once a minute, three times at first, and a fault that does not come
// back is told in time.
func TestAClusterThatAlternatesIsWrittenOnceAMinute(t *testing.T) {
	for seed := range uint64(10) {
		g, w := NewWithT(t), newWorld(seed, 5)
		w.pass(5 * time.Minute)
		w.writes = nil
		for range 20 {
			w.drops = func(_ string, t test, _ string, _ bool) bool { return t.check == connectivityv1alpha1.CheckPods }
			w.pass(time.Duration(35+w.random.IntN(20)) * time.Second)
			w.drops = func(string, test, string, bool) bool { return false }
			w.pass(time.Duration(30+w.random.IntN(20)) * time.Second)
		}
		expectOneAMinute(g, w.writes)
		g.Expect(len(w.writes)).To(BeNumerically(">", 10))
		_, ok := w.until(func(v Verdict) bool { return shown(v) == allPass }, repair)
		g.Expect(ok).To(BeTrue(), w.published.verdict.Message)
		w.pass(2 * time.Minute)
		w.cut["worker-000"] = true
		_, ok = w.until(func(v Verdict) bool { return v.Status == corev1beta1.ConditionFalse }, ofANode)
		g.Expect(ok).To(BeTrue(), w.published.verdict.Message)
	}
}

// Whatever is found, and whenever: three writes may follow each other at once, and a fourth one waits.
func TestNoClusterIsWrittenMoreThanTwiceAheadOfOneAMinute(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var p published
		var writes []time.Time
		now := noon
		for range rapid.IntRange(3, 40).Draw(t, "verdicts") {
			found := verdictOf(rapid.Bool().Draw(t, "passes"), rapid.IntRange(1, 3).Draw(t, "nodes"), 100)
			until := now.Add(time.Duration(rapid.IntRange(1, 150).Draw(t, "seconds")) * time.Second)
			for ; now.Before(until); now = now.Add(time.Second) {
				paid := p.paid
				if p, _ = p.next(found, now); !p.paid.Equal(paid) {
					writes = append(writes, now)
				}
			}
		}
		expectOneAMinute(NewWithT(t), writes)
	})
}

// verdictOf is one about all tests, of which pods may fail.
func verdictOf(passes bool, nodes, edges int) Verdict {
	o := &observation{reporting: nodes, tests: map[test]*tally{}, latest: noon}
	results := map[test]settled{}
	for _, t := range tests {
		o.tests[t] = &tally{}
		if t.family == "IPv4" {
			results[t] = settled{result: new(passes || t.check != connectivityv1alpha1.CheckPods)}
		}
	}
	o.tests[tests[0]].edges = edges
	return o.verdict(results, nil, nil)
}

// That all tests pass is written at once, other results after they were gathered, figures after a
// minute, and figures that are nearly the same never. Results may be a minute ahead of what is
// paid, and that all pass again two.
func TestWhenAVerdictIsPublished(t *testing.T) {
	g := NewWithT(t)
	var p published
	at := func(seconds int, v Verdict) string {
		now := noon.Add(time.Duration(seconds) * time.Second)
		paid := p.paid
		var due time.Duration
		if p, due = p.next(v, now); !p.paid.Equal(paid) {
			g.Expect(due).To(BeZero())
			return "written"
		}
		return due.String()
	}
	g.Expect(at(0, verdictOf(true, 3, 100))).To(Equal("written"), "the first")
	g.Expect(at(10, verdictOf(true, 4, 100))).To(Equal("1m0s"), "figures wait")
	g.Expect(at(69, verdictOf(true, 5, 100))).To(Equal("1s"), "from their first change")
	g.Expect(at(70, verdictOf(true, 5, 100))).To(Equal("written"))
	g.Expect(at(90, verdictOf(false, 5, 100))).To(Equal(gatherFailures.String()), "failures are gathered")
	g.Expect(at(95, verdictOf(true, 5, 100))).To(Equal("0s"), "it has passed")
	g.Expect(at(96, verdictOf(false, 5, 100))).To(Equal(gatherFailures.String()))
	g.Expect(at(106, verdictOf(false, 5, 100))).To(Equal("written"), "one in advance")
	g.Expect(at(110, verdictOf(true, 5, 100))).To(Equal("written"), "all pass again: two in advance")
	g.Expect(at(120, verdictOf(false, 5, 100))).To(Equal("1m10s"), "not three")
	g.Expect(at(189, verdictOf(false, 5, 100))).To(Equal("1s"))
	g.Expect(at(189, verdictOf(true, 5, 100))).To(Equal("0s"))
	g.Expect(at(200, verdictOf(true, 6, 100))).To(Equal("1m0s"), "figures only when nothing is in advance")
	g.Expect(at(900, verdictOf(true, 5, 105))).To(Equal("0s"), "a peer more or less")
	g.Expect(at(901, verdictOf(true, 5, 120))).To(Equal("1m0s"))
	g.Expect(at(1000, verdictOf(true, 5, 120))).To(Equal("written"))
	g.Expect(at(1001, verdictOf(false, 5, 120))).To(Equal(gatherFailures.String()))
	_, due := p.next(verdictOf(true, 9, 100), noon.Add(-time.Hour))
	g.Expect(due).To(Equal(3*time.Minute), "a clock that was set back")
}
