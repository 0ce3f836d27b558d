// SPDX-License-Identifier: Apache-2.0

// Package transition decides whether a network that becomes what its spec asks for in steps
// (pipeline.Transition) may take the next one. It is pure: what it knows is in a Record, which the
// Network's status.state keeps, and in what is observed now.
package transition

import (
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Phase is what a Network does, or waits for, at a step.
type Phase string

// The phases, in the order in which a step goes through them.
const (
	// Applying waits until the step is applied in the shoot.
	Applying Phase = "Applying"
	// RollingOut waits until the agents of all nodes run the step.
	RollingOut Phase = "RollingOut"
	// Verifying waits until pods have been talking for a while.
	Verifying Phase = "Verifying"
	// WaitingForNodes waits for what each node must show before the next step.
	WaitingForNodes Phase = "WaitingForNodes"
	// Halted has lost the connectivity.
	Halted Phase = "ConnectivityLost"
	// Unobserved does not know how far the step has come, because the shoot does not tell.
	Unobserved Phase = "Unobserved"
)

// Record is where a Network stands on the way to what its spec asks for.
type Record struct {
	// Target identifies the config that the spec asks for.
	Target string `json:"target"`
	// From and To are how packets travel before and after, for people.
	From string `json:"from,omitempty"`
	To   string `json:"to,omitempty"`
	// Step is the number of the step that is written, 0 before the first one, and Steps how many
	// there are.
	Step  int `json:"step"`
	Steps int `json:"steps"`
	// Name is that of the step, empty before the first one.
	Name string `json:"name,omitempty"`
	// Last is the name of the last step.
	Last string `json:"last,omitempty"`
	// Before identifies the config that the network had before the step.
	Before string `json:"before,omitempty"`
	// Since is when the step began, or the Network began to wait for the first one.
	Since metav1.Time `json:"since"`
	// RolledOut is since when the agents of all nodes run the step; absent as long as they do not.
	RolledOut *metav1.Time `json:"rolledOut,omitempty"`
	Phase     Phase        `json:"phase"`
	// Unmet is what the nodes lack for the next step, for people.
	Unmet string `json:"unmet,omitempty"`
	// Present is the config of the step, if a spec was refused since. Otherwise it is what was
	// written last.
	Present json.RawMessage `json:"present,omitempty"`
}

// IsHalted reports whether the network has stopped at its step.
func (r *Record) IsHalted() bool { return r != nil && r.Phase == Halted }
