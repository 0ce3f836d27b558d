// SPDX-License-Identifier: Apache-2.0

package wave

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Policy is how a roll-out is paced. Its fields are those of the operator's configuration.
type Policy struct {
	// Revision is what is rolled out.
	Revision string
	// MaxConcurrency is how many Networks may be Progressing at a time: a number, or a part of all
	// Networks in per cent, rounded up.
	MaxConcurrency intstr.IntOrString
	// MaxFailures is how many Networks may fail before the roll-out halts: a number, or a part of
	// all Networks in per cent, rounded up. A canary that fails always halts it.
	MaxFailures intstr.IntOrString
	// MinSuccessTime is how long a Network must be applied and healthy until it has Succeeded.
	MinSuccessTime time.Duration
	// ProgressDeadline is how long a Network may be Progressing.
	ProgressDeadline time.Duration
	// CanaryLabels are the labels of the Networks that come first; empty means that none does.
	CanaryLabels map[string]string
	// Paused keeps all Networks as they are.
	Paused bool
}

// Member is what a roll-out must know of one Network.
type Member struct {
	Name types.NamespacedName
	// Record is that of its state, nil if it has none.
	Record *Record
	// Canary, Paused and Urgent are what its labels and its annotation state.
	Canary, Paused, Urgent bool
	// Resumed is until when failures of all Networks are known and accepted, as its annotation
	// states; zero without one.
	Resumed time.Time
}

// Situation is how far a roll-out has come.
type Situation struct {
	// Limit is how many Networks may be Progressing, and Progressing how many are.
	Limit, Progressing int
	// Pending is how many Networks wait.
	Pending int
	// Canaries are those that have neither succeeded nor failed yet, and Failed the Networks
	// that count as failed, each by their names.
	Canaries, Failed []types.NamespacedName
	// Tolerated is how many may fail.
	Tolerated int
	// IsHalted and IsPaused report that no Network may be written. A roll-out that is paused by
	// the configuration goes on with another configuration.
	IsHalted, IsPaused bool
}

// Assess finds out how far the roll-out has come. An acceptance of failures in the future does not
// count: it would accept what nobody has seen. A Network that is judged no more, because its shoot is left
// alone, holds up no other after twice the deadline, nor if the clock was set back by more than that.
func (p *Policy) Assess(members []Member, now time.Time) Situation {
	s := Situation{IsPaused: p.Paused}
	var resumed time.Time
	for i := range members {
		if at := members[i].Resumed; at.After(resumed) && !at.After(now) {
			resumed = at
		}
	}
	total, canaryFailed := 0, false
	for i := range members {
		m := &members[i]
		if m.Record.Is(Progressing) && now.Sub(m.Record.Since.Time).Abs() < 2*p.ProgressDeadline {
			s.Progressing++
		}
		if m.Paused {
			continue
		}
		total++
		switch {
		case m.Record.IsOf(p.Revision, Failed):
			if m.Record.Since.After(resumed) {
				s.Failed = append(s.Failed, m.Name)
				canaryFailed = canaryFailed || m.Canary
			}
		case m.Canary && !m.Record.IsOf(p.Revision, Succeeded):
			s.Canaries = append(s.Canaries, m.Name)
		}
		if m.Record.Is(Pending) {
			s.Pending++
		}
	}
	s.Limit = max(1, scaled(p.MaxConcurrency, total))
	s.Tolerated = scaled(p.MaxFailures, total)
	s.IsHalted = canaryFailed || len(s.Failed) > s.Tolerated
	for _, names := range [][]types.NamespacedName{s.Canaries, s.Failed} {
		slices.SortFunc(names, func(a, b types.NamespacedName) int { return strings.Compare(a.String(), b.String()) })
	}
	return s
}

// scaled returns a number, or a part of the total, rounded up. What cannot be read, which the configuration's
// validation refuses, is 0.
func scaled(value intstr.IntOrString, total int) int {
	number, err := intstr.GetScaledValueFromIntOrPercent(&value, total, true)
	if err != nil {
		return 0
	}
	return number
}

// Verdict is why a Network must wait; the zero Verdict admits it.
type Verdict struct {
	Reason  Reason
	Message string
}

// Admits reports whether a Network may be written now.
func (v Verdict) Admits() bool { return v == Verdict{} }

// Admit decides about a member that is not Progressing itself. Its own pause precedes its urgency, which
// precedes everything else.
func (s *Situation) Admit(m *Member) Verdict {
	switch {
	case m.Paused:
		return Verdict{NetworkPaused, "The annotation trellis.network/rollout keeps this Network as it is; a change of its spec is carried out"}
	case m.Urgent:
		return Verdict{}
	case s.IsPaused:
		return Verdict{RolloutPaused, "The operator's configuration pauses the roll-out (controllers.network.rolloutStrategy.paused)"}
	case s.IsHalted:
		return Verdict{RolloutHalted, fmt.Sprintf("The roll-out is halted, because the update failed in %s; "+
			"it goes on once the annotation trellis.network/rollout-resumed-at of one of them has the present time", Names(s.Failed))}
	case !m.Canary && len(s.Canaries) > 0:
		return Verdict{WaitingForCanaries, "The roll-out waits for the canaries " + Names(s.Canaries)}
	case s.Progressing >= s.Limit:
		return Verdict{WaitingForOthers, fmt.Sprintf("The roll-out updates %d Networks at a time", s.Limit)}
	}
	return Verdict{}
}

// maxListed is how many Networks a message names.
const maxListed = 5

// Names names the first of some Networks, and how many more there are.
func Names(names []types.NamespacedName) string {
	var parts []string
	for _, name := range names[:min(len(names), maxListed)] {
		parts = append(parts, name.String())
	}
	if more := len(names) - maxListed; more > 0 {
		parts = append(parts, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(parts, ", ")
}

// stage is what all waiting Networks wait for; they are told when it changes.
func (s *Situation) stage() Reason {
	switch {
	case s.IsPaused:
		return RolloutPaused
	case s.IsHalted:
		return RolloutHalted
	case len(s.Canaries) > 0:
		return WaitingForCanaries
	}
	return WaitingForOthers
}
