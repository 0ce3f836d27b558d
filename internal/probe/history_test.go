// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	. "github.com/onsi/gomega"
	"pgregory.net/rapid"
)

var start = time.Unix(1_800_000_000, 0).UTC()

// attempts records outcomes, ten seconds apart: true is a success.
func attempts(h *History, outcomes ...bool) {
	for _, success := range outcomes {
		at := start.Add(time.Duration(h.attempts) * 10 * time.Second)
		outcome := Outcome{Started: at, Ended: at.Add(time.Second)}
		if success {
			outcome.Latency = 1500 * time.Microsecond
		} else {
			outcome.Failure = "no connection within 3s"
		}
		h.Record(outcome)
	}
}

func TestASingleFailureIsNoFailingTarget(t *testing.T) {
	g := NewWithT(t)
	h := &History{}
	attempts(h, true, false)
	g.Expect(h.IsFailing()).To(BeFalse())
	attempts(h, true, false, true, false)
	g.Expect(h.IsFailing()).To(BeFalse())
	attempts(h, false)
	g.Expect(h.IsFailing()).To(BeTrue())
	attempts(h, true)
	g.Expect(h.IsFailing()).To(BeFalse())
}

func TestAResultTellsSinceWhenATargetFails(t *testing.T) {
	g := NewWithT(t)
	h := &History{}
	attempts(h, true, false, false, false)
	result := h.result(Target{Name: "node-b", Address: "10.1.0.5:8099"})
	g.Expect(result.FailingSince.Time).To(Equal(start.Add(10*time.Second)), "the beginning of the first failed attempt")
	g.Expect(result.LastSuccess.Time).To(Equal(start.Add(time.Second)), "the end of the successful one")
	g.Expect(result.Error).To(Equal("no connection within 3s"))
	g.Expect([]int32{result.Attempts, result.Failures, result.ConsecutiveFailures, result.LatencyMicroseconds}).To(Equal([]int32{4, 3, 3, 1500}))
	attempts(h, true)
	result = h.result(Target{})
	g.Expect(result.FailingSince).To(BeNil())
	g.Expect(result.Error).To(BeEmpty())
	g.Expect(result.Failures).To(BeEquivalentTo(3))
}

func TestAfterAFailureOnlyFullSegmentsShowThatAPathIsRepaired(t *testing.T) {
	g := NewWithT(t)
	h := &History{}
	var full []bool
	for range 7 {
		full = append(full, h.WantsFullSegments())
		attempts(h, true)
	}
	g.Expect(full).To(Equal([]bool{true, false, false, true, false, false, true}))
	attempts(h, false)
	g.Expect(h.WantsFullSegments()).To(BeTrue())
	attempts(h, false)
	g.Expect(h.WantsFullSegments()).To(BeTrue())
}

func TestAResultCountsTheLatestAttempts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := NewWithT(t)
		outcomes := rapid.SliceOfN(rapid.Bool(), 1, 100).Draw(t, "outcomes")
		h := &History{}
		attempts(h, outcomes...)
		latest := outcomes[max(0, len(outcomes)-30):]
		failures, consecutive := 0, 0
		for _, success := range latest {
			if !success {
				failures++
			}
		}
		for i := len(outcomes) - 1; i >= 0 && !outcomes[i]; i-- {
			consecutive++
		}
		result := h.result(Target{})
		g.Expect(int(result.Attempts)).To(Equal(len(latest)))
		g.Expect(int(result.Failures)).To(Equal(failures))
		g.Expect(int(result.ConsecutiveFailures)).To(Equal(consecutive))
		g.Expect(result.FailingSince == nil).To(Equal(consecutive == 0))
		g.Expect(result.Error == "").To(Equal(consecutive == 0))
	})
}

func TestErrorsAreAsLongAsAReportAllows(t *testing.T) {
	g := NewWithT(t)
	h := &History{}
	h.Record(Outcome{Failure: strings.Repeat("ä", 500)})
	g.Expect(utf8.RuneCountInString(h.result(Target{}).Error)).To(Equal(128))
}
