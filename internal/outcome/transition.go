// SPDX-License-Identifier: Apache-2.0

package outcome

import (
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	"github.com/trellis-network/trellis/internal/condition"
)

// Transition is a change of the last operation of a Network, or of the Shoot that it
// belongs to.
type Transition struct {
	// Shoot is the one that changed; empty if the Network did.
	Shoot types.NamespacedName
	// Network is the one that changed, or the Shoot's.
	Network types.NamespacedName
	// Type is that of the network, as its spec states it.
	Type string
	// Before is the last operation until now, and After the new one.
	Before, After corev1beta1.LastOperation
	// Duration is the time since the operation began.
	Duration time.Duration
}

// changesState reports whether more than the description of the operation changes.
func (t *Transition) changesState() bool {
	return t.Before.Type != t.After.Type || t.Before.State != t.After.State
}

// Log writes the one line about a change of state. Each controller that changes the state of
// Networks or Shoots logs with it, so that the keys are the same everywhere: network, type,
// operation, state, message and duration, after the shoot where it is the one that changed.
func (t *Transition) Log(logger logr.Logger) {
	if !t.changesState() {
		return
	}
	line := "Network changed state"
	if t.Shoot.Name != "" {
		line, logger = "Shoot changed state", logger.WithValues("shoot", t.Shoot.String())
	}
	logger.Info(line, "network", t.Network.String(), "type", t.Type, "operation", t.After.Type,
		"state", t.After.State, "message", t.After.Description, "duration", t.Duration.Round(time.Millisecond).String())
}

// reasons are the reasons of events about the end of an operation, as Gardener has them.
var reasons = map[corev1beta1.LastOperationType]struct{ succeeded, failed string }{
	corev1beta1.LastOperationTypeCreate:    {"Reconciled", "ReconcileError"},
	corev1beta1.LastOperationTypeReconcile: {"Reconciled", "ReconcileError"},
	corev1beta1.LastOperationTypeRestore:   {"Restored", "RestoreError"},
	corev1beta1.LastOperationTypeMigrate:   {"Migrated", "MigrateError"},
	corev1beta1.LastOperationTypeDelete:    {"Deleted", "DeleteError"},
}

// Announce records an event about the object that changed when an operation has succeeded,
// or fails for another reason than before.
func (t *Transition) Announce(recorder events.EventRecorder, object runtime.Object) {
	switch reason, is := reasons[t.After.Type], t.After; {
	case is.State == corev1beta1.LastOperationStateSucceeded && t.changesState():
		Announce(recorder, object, corev1.EventTypeNormal, reason.succeeded, is.Description)
	case is.State == corev1beta1.LastOperationStateError && (t.changesState() || t.Before.Description != is.Description):
		Announce(recorder, object, corev1.EventTypeWarning, reason.failed, is.Description)
	}
}

// maxNote is the greatest length of an event's note that the API server accepts, in bytes.
const maxNote = 1024

// Announce records an event about an object. A note that is too long is cut. Of two events about
// one version of an object that have the same reason, clients write only the first one.
func Announce(recorder events.EventRecorder, object runtime.Object, eventType, reason, note string) {
	AnnounceWith(recorder, object, nil, eventType, reason, note)
}

// AnnounceWith records an event about an object that has to do with another one. Events with
// different ones are all written.
func AnnounceWith(recorder events.EventRecorder, object, related runtime.Object, eventType, reason, note string) {
	recorder.Eventf(object, related, eventType, reason, "Reconcile", "%s", condition.Shorten(note, maxNote))
}
