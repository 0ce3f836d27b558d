// SPDX-License-Identifier: Apache-2.0

// Package wave paces how a new version of Trellis, or a changed setting of the operator, reaches
// Networks whose users have changed nothing: canaries first, only so many at a time, and no
// further once too many have failed.
//
// policy.go decides, and judge.go finds out what became of a Network; both are pure. pacer.go
// keeps what they need for all Networks of a seed.
package wave

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Phase is where a Network stands in a roll-out.
type Phase string

// The phases of a Network.
const (
	// Pending means that what would be written now differs from what is written, and waits.
	Pending Phase = "Pending"
	// Progressing means that it was written, and that its success or failure is awaited.
	Progressing Phase = "Progressing"
	// Succeeded means that the Network has what the revision makes of it, and is healthy as far
	// as that was awaited.
	Succeeded Phase = "Succeeded"
	// Failed means that the network was not applied, or that its health dropped.
	Failed Phase = "Failed"
)

// Reason is why a Network is in its phase, in a word. It is the reason of the Network's condition
// NetworkUpToDate, and of its events.
type Reason string

// The reasons of Pending, of Progressing, and of Failed.
const (
	NetworkPaused      Reason = "NetworkPaused"
	RolloutPaused      Reason = "RolloutPaused"
	RolloutHalted      Reason = "RolloutHalted"
	WaitingForCanaries Reason = "WaitingForCanaries"
	WaitingForOthers   Reason = "WaitingForOthers"
	WaitingForRequest  Reason = "WaitingForRequest"

	Updating Reason = "Updating"

	NotApplied Reason = "NotApplied"
	Unhealthy  Reason = "Unhealthy"
)

// Record is what the state of a Network keeps of a roll-out, so that a restart of the operator
// forgets nothing.
type Record struct {
	// Revision identifies the version of the operator, and those of its settings that change
	// networks.
	Revision string `json:"revision"`
	Phase    Phase  `json:"phase"`
	// Reason and Message tell users why. Empty for Succeeded.
	Reason  Reason `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
	// Since is when the phase began.
	Since metav1.Time `json:"since,omitzero"`
	// Applied is when the shoot had what was written while the Network was Progressing.
	Applied metav1.Time `json:"applied,omitzero"`
	// WasApplied reports that the last operation had succeeded when the Network was admitted: only
	// then an error shows that the update cannot be applied.
	WasApplied bool `json:"wasApplied,omitempty"`
	// Healthy are the types of the conditions that were True when the Network was admitted: only
	// these can drop.
	Healthy []string `json:"healthy,omitempty"`
}

// IsOf reports whether the Network is in a phase of a revision. A nil Record is in none.
func (r *Record) IsOf(revision string, phase Phase) bool {
	return r != nil && r.Revision == revision && r.Phase == phase
}

// Is reports whether the Network is in a phase, of any revision.
func (r *Record) Is(phase Phase) bool { return r != nil && r.Phase == phase }
