// SPDX-License-Identifier: Apache-2.0

package state

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trellis-network/trellis/pipeline"
)

// Exchange is where a cluster stands whose nodes go from the network of one type to that of another.
type Exchange struct {
	// Asked is what the change was accepted for. What is built meanwhile may be another config.
	Asked *pipeline.Accepted `json:"asked,omitempty"`
	// Base is what the nodes without label have, and Other what those have whose label names its type. Both are
	// nil while the network that runs becomes one that routes natively.
	Base  *pipeline.Applied `json:"base,omitempty"`
	Other *pipeline.Applied `json:"other,omitempty"`
	// Since is when the change of the type began.
	Since metav1.Time `json:"since"`
	// Nodes is how many nodes there are, and NodesDone how many have the network that the spec asks for.
	Nodes     int32 `json:"nodes,omitempty"`
	NodesDone int32 `json:"nodesDone,omitempty"`
	// WaitsFor is what the change waits for, for people, and Halted reports that no other node begins, since pods
	// do not talk.
	WaitsFor string `json:"waitsFor,omitempty"`
	Halted   bool   `json:"halted,omitempty"`
	// Done is the type that all nodes have; empty until then. The other network is then taken away.
	Done string `json:"done,omitempty"`
}

// TypeOf returns the type of network that something was applied for; empty if that is not known.
func TypeOf(applied *pipeline.Applied) string {
	if applied == nil || applied.Accepted == nil {
		return ""
	}
	return applied.Accepted.Spec.Type
}

// Of returns what was applied of the network of a type; nil if nothing was.
func (e *Exchange) Of(networkType string) *pipeline.Applied {
	switch networkType {
	case TypeOf(e.Base):
		return e.Base
	case TypeOf(e.Other):
		return e.Other
	}
	return nil
}
