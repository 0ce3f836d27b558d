// SPDX-License-Identifier: Apache-2.0

package network

import (
	"context"
	"encoding/json"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/internal/outcome"
	"github.com/trellis-network/trellis/plugin"
)

// eventReasons are the reasons of events about the end of an operation, as Gardener has
// them.
var eventReasons = map[corev1beta1.LastOperationType]struct{ succeeded, failed string }{
	corev1beta1.LastOperationTypeCreate:    {"Reconciled", "ReconcileError"},
	corev1beta1.LastOperationTypeReconcile: {"Reconciled", "ReconcileError"},
	corev1beta1.LastOperationTypeRestore:   {"Restored", "RestoreError"},
	corev1beta1.LastOperationTypeMigrate:   {"Migrated", "MigrateError"},
	corev1beta1.LastOperationTypeDelete:    {"Deleted", "DeleteError"},
}

// event records an event about the Network.
func (w *statusWriter) event(run *run, eventType, reason, note string) {
	outcome.Announce(w.recorder, run.network, eventType, reason, note)
}

// announceTransition logs a change of the operation's state, and records an event of a
// success or a failure.
func (w *statusWriter) announceTransition(ctx context.Context, run *run, before *extensionsv1alpha1.Network) {
	is := run.network.Status.LastOperation
	if is == nil {
		return
	}
	was := ptr.Deref(before.Status.LastOperation, corev1beta1.LastOperation{})
	changed := was.Type != is.Type || was.State != is.State
	if changed {
		transition := outcome.Transition{
			Network: client.ObjectKeyFromObject(run.network), Type: run.network.Spec.Type,
			Operation: is.Type, State: is.State, Message: is.Description,
		}
		if was.State == corev1beta1.LastOperationStateProcessing {
			transition.Duration = w.clock.Since(was.LastUpdateTime.Time)
		}
		transition.Log(logf.FromContext(ctx))
	}
	switch {
	case is.State == corev1beta1.LastOperationStateSucceeded && changed:
		w.event(run, corev1.EventTypeNormal, eventReasons[is.Type].succeeded, is.Description)
	case is.State == corev1beta1.LastOperationStateError && (changed || was.Description != is.Description):
		w.event(run, corev1.EventTypeWarning, eventReasons[is.Type].failed, is.Description)
	}
}

// announceWarnings records an event of the warnings that the status did not have before:
// one event, because the API server takes events that differ only in their notes for one.
func (w *statusWriter) announceWarnings(run *run, before *runtime.RawExtension) {
	var lines []string
	for _, warning := range run.state.Written.Warnings {
		quoted, _ := json.Marshal(warning.Message)
		if before == nil || !strings.Contains(string(before.Raw), string(quoted)) {
			lines = append(lines, warning.String())
		}
	}
	if len(lines) > 0 {
		w.event(run, corev1.EventTypeWarning, "ConfigurationWarning", strings.Join(lines, "; "))
	}
}

// announceChanges records an event of what interrupts traffic, before it is written.
func (w *statusWriter) announceChanges(run *run) {
	var lines []string
	for _, change := range run.built.Changes {
		if change.Class == plugin.Disruptive {
			lines = append(lines, change.Path+": "+change.Reason)
		}
	}
	if len(lines) > 0 {
		w.event(run, corev1.EventTypeWarning, "DisruptiveChange", strings.Join(lines, "; "))
	}
}
