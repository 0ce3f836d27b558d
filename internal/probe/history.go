// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"math/bits"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trellis-network/trellis/api/connectivity/v1alpha1"
)

const (
	// window is the number of attempts that a report counts: five minutes, at an attempt every
	// ten seconds.
	window = 30
	// fullEvery is that one of so many attempts exchanges full segments. They cost ten times as
	// many bytes as the small exchange, and what they find, a lowered MTU, is seldom.
	fullEvery = 3
	// maxError is the length of an error in a report.
	maxError = 128
)

// Outcome is the outcome of one attempt.
type Outcome struct {
	Started, Ended time.Time
	// Failure says in a few words why the attempt failed. Empty means success.
	Failure string
	// Latency is the time until the first answer; only of a success.
	Latency time.Duration
	// FullSizePackets is whether a packet of the size of the interface's MTU got through. Nil
	// means that this was not tested.
	FullSizePackets *bool
	// NodeAddresses are those that the peer states for its node.
	NodeAddresses []string
}

// History is what is known of one target. The zero History has no attempts.
type History struct {
	attempts     int64
	failed       uint32 // the latest attempts, the last one in the lowest bit
	consecutive  int32
	failingSince time.Time
	lastSuccess  time.Time
	failure      string
	latency      time.Duration
	fullSize     *bool
}

// Record adds an attempt.
func (h *History) Record(o Outcome) {
	h.attempts++
	h.failed = h.failed << 1 & (1<<window - 1)
	if o.FullSizePackets != nil {
		h.fullSize = o.FullSizePackets
	}
	if h.failure = o.Failure; h.failure != "" {
		if h.failed |= 1; h.consecutive == 0 {
			h.failingSince = o.Started
		}
		h.consecutive++
		h.fullSize = nil
		return
	}
	h.consecutive, h.failingSince = 0, time.Time{}
	h.lastSuccess, h.latency = o.Ended, o.Latency
}

// IsFailing reports whether so many successive attempts have failed that it is no coincidence.
func (h *History) IsFailing() bool { return h.consecutive >= v1alpha1.FailingThreshold }

// WantsFullSegments reports whether the next attempt has to exchange full segments: every third
// one does, so that a lowered MTU is found, and each one after a failure, so that it is not taken
// for repaired by what needs small packets only.
func (h *History) WantsFullSegments() bool { return h.consecutive > 0 || h.attempts%fullEvery == 0 }

// result returns the History as a report has it.
func (h *History) result(target Target) v1alpha1.Result {
	return v1alpha1.Result{
		Name:                target.Name,
		Address:             target.Address,
		Attempts:            int32(min(h.attempts, window)),
		Failures:            int32(bits.OnesCount32(h.failed)),
		ConsecutiveFailures: h.consecutive,
		FailingSince:        optionalTime(h.failingSince),
		LastSuccess:         optionalTime(h.lastSuccess),
		Error:               shorten(h.failure),
		LatencyMicroseconds: int32(min(h.latency, time.Minute).Microseconds()),
		FullSizePackets:     h.fullSize,
	}
}

func optionalTime(t time.Time) *metav1.Time {
	if t.IsZero() {
		return nil
	}
	return &metav1.Time{Time: t.UTC().Truncate(time.Second)}
}

// shorten bounds a text, whose characters an API server counts.
func shorten(text string) string {
	if characters := []rune(text); len(characters) > maxError {
		return string(characters[:maxError-1]) + "…"
	}
	return text
}
