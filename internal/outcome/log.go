// SPDX-License-Identifier: Apache-2.0

package outcome

import (
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/types"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
)

// Transition is a change of the state of a Network, or of the Shoot that it belongs to.
type Transition struct {
	// Shoot is the one that changed; empty if the Network did.
	Shoot types.NamespacedName
	// Network is the one that changed, or the Shoot's.
	Network types.NamespacedName
	// Type is that of the network, as its spec states it.
	Type      string
	Operation corev1beta1.LastOperationType
	// State is the new one, and Message what the status says about it.
	State   corev1beta1.LastOperationState
	Message string
	// Duration is the time since the operation began.
	Duration time.Duration
}

// Log writes the one line about a transition. Each controller that changes the state of
// Networks or Shoots logs with it, so that the keys are the same everywhere: network, type,
// operation, state, message and duration, after the shoot where it is the one that changed.
func (t *Transition) Log(logger logr.Logger) {
	line := "Network changed state"
	if t.Shoot.Name != "" {
		line, logger = "Shoot changed state", logger.WithValues("shoot", t.Shoot.String())
	}
	logger.Info(line, "network", t.Network.String(), "type", t.Type, "operation", t.Operation,
		"state", t.State, "message", t.Message, "duration", t.Duration.Round(time.Millisecond).String())
}

// ConditionTransition is a change of the status of a Network's condition.
type ConditionTransition struct {
	Network types.NamespacedName
	// Type is that of the network, as its spec states it.
	Type string
	// Condition is the new one.
	Condition corev1beta1.Condition
	// Duration is the time since the condition got its former status; 0 if it is new.
	Duration time.Duration
}

// Log writes the one line about a transition. Its keys are those of Transition.Log, with
// the condition in place of the operation.
func (t *ConditionTransition) Log(logger logr.Logger) {
	c := &t.Condition
	logger.Info("Network changed condition", "network", t.Network.String(), "type", t.Type,
		"condition", c.Type, "state", c.Status, "message", c.Message, "duration", t.Duration.Round(time.Millisecond).String())
}
