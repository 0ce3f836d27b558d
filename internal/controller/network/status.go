// SPDX-License-Identifier: Apache-2.0

package network

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	"github.com/trellis-network/trellis/internal/state"
	"github.com/trellis-network/trellis/pipeline"
	"github.com/trellis-network/trellis/plugin"
)

// What a status says in each moment of an operation (section 2.4 of Gardener's
// contract).
var (
	doing = map[corev1beta1.LastOperationType]string{
		corev1beta1.LastOperationTypeCreate:    "Reconciling the Network",
		corev1beta1.LastOperationTypeReconcile: "Reconciling the Network",
		corev1beta1.LastOperationTypeRestore:   "Restoring the Network",
		corev1beta1.LastOperationTypeMigrate:   "Migrating the Network",
		corev1beta1.LastOperationTypeDelete:    "Deleting the Network",
	}
	done = map[corev1beta1.LastOperationType]string{
		corev1beta1.LastOperationTypeCreate:    "Successfully reconciled Network",
		corev1beta1.LastOperationTypeReconcile: "Successfully reconciled Network",
		corev1beta1.LastOperationTypeRestore:   "Successfully restored Network",
		corev1beta1.LastOperationTypeMigrate:   "Successfully migrated Network",
		corev1beta1.LastOperationTypeDelete:    "Successfully deleted Network",
	}
	failing = map[corev1beta1.LastOperationType]string{
		corev1beta1.LastOperationTypeCreate:    "Error reconciling Network",
		corev1beta1.LastOperationTypeReconcile: "Error reconciling Network",
		corev1beta1.LastOperationTypeRestore:   "Error restoring Network",
		corev1beta1.LastOperationTypeMigrate:   "Error migrating Network",
		corev1beta1.LastOperationTypeDelete:    "Error deleting Network",
	}
)

// processing says that work begins. observedGeneration and lastError stay. A nil
// state stays as well. Unless an operation was asked for, a status that already
// says the same is not written again.
func (w *work) processing(ctx context.Context, kept *state.State, asked bool) error {
	return w.patch(ctx, func() error {
		if !asked && isProcessing(w.network.Status.LastOperation, w.kind) {
			return w.keep(kept)
		}
		w.operation(corev1beta1.LastOperationStateProcessing, 1, doing[w.kind])
		return w.keep(kept)
	})
}

// leaving is processing for a Network that is deleted or migrated.
func (w *work) leaving(ctx context.Context) error {
	last := w.network.Status.LastOperation
	if last != nil && last.Type == w.kind && last.State != corev1beta1.LastOperationStateSucceeded {
		return nil // an error is not wiped while its cause may still be there
	}
	return w.processing(ctx, nil, false)
}

// success says that what was written is applied, and shows what is in force.
func (w *work) success(ctx context.Context, kept *state.State) error {
	shown, err := w.providerStatus(kept)
	if err != nil {
		return err
	}
	kept.Applied, kept.TakenOver = kept.Written.Config, nil
	before := w.network.Status.ProviderStatus
	err = w.patch(ctx, func() error {
		w.operation(corev1beta1.LastOperationStateSucceeded, 100, done[w.kind])
		w.network.Status.LastError = nil
		w.network.Status.ObservedGeneration = kept.Written.Generation
		w.network.Status.IPFamilies = kept.Written.IPFamilies
		w.network.Status.ProviderStatus = shown
		return w.keep(kept)
	})
	if err == nil {
		w.tellWarnings(before, kept)
	}
	return err
}

// left says that a Network which is deleted or migrated has nothing here any more.
func (w *work) left(ctx context.Context) error {
	return w.patch(ctx, func() error {
		w.operation(corev1beta1.LastOperationStateSucceeded, 100, done[w.kind])
		w.network.Status.LastError = nil
		w.network.Status.ObservedGeneration = w.network.Generation
		return nil
	})
}

// error says what went wrong. The same error about the same generation is not
// written twice. A nil state stays. Codes may be stated in any order, and twice.
func (w *work) error(ctx context.Context, generation int64, kept *state.State, cause error, codes ...corev1beta1.ErrorCode) error {
	description := failing[w.kind] + ": " + cause.Error()
	codes = sortedSet(codes)
	status := &w.network.Status
	if status.LastError != nil && status.LastError.Description == description && slices.Equal(status.LastError.Codes, codes) &&
		status.ObservedGeneration == generation && status.LastOperation != nil &&
		status.LastOperation.State == corev1beta1.LastOperationStateError {
		return w.patch(ctx, func() error { return w.keep(kept) })
	}
	return w.patch(ctx, func() error {
		w.operation(corev1beta1.LastOperationStateError, 50, description)
		now := status.LastOperation.LastUpdateTime
		status.LastError = &corev1beta1.LastError{Description: description, Codes: codes, LastUpdateTime: &now}
		status.ObservedGeneration = generation
		return w.keep(kept)
	})
}

func (w *work) operation(state corev1beta1.LastOperationState, progress int32, description string) {
	w.network.Status.LastOperation = &corev1beta1.LastOperation{
		Type: w.kind, State: state, Progress: progress, Description: description,
		LastUpdateTime: metav1.NewTime(w.Clock.Now()).Rfc3339Copy(),
	}
}

func (w *work) keep(kept *state.State) error {
	if kept == nil {
		return nil
	}
	encoded, err := kept.Encode()
	w.network.Status.State = encoded
	return err
}

// patch writes what change does to the status, if it does anything.
func (w *work) patch(ctx context.Context, change func() error) error {
	before := w.network.DeepCopy()
	if err := change(); err != nil {
		return err
	}
	patch := client.MergeFrom(before)
	if difference, err := patch.Data(w.network); err != nil || string(difference) == "{}" {
		return err
	}
	if err := w.client.Status().Patch(ctx, w.network, patch); err != nil {
		w.network = before // what could not be written is still to be told
		return fmt.Errorf("write the status of the Network: %w", err)
	}
	return nil
}

func isProcessing(last *corev1beta1.LastOperation, kind corev1beta1.LastOperationType) bool {
	return last != nil && last.Type == kind && last.State == corev1beta1.LastOperationStateProcessing
}

// providerStatus is the plugin's status with what is in force. Components, which
// are another's to write, are left as they are.
func (w *work) providerStatus(kept *state.State) (*runtime.RawExtension, error) {
	content := map[string]any{}
	if current := w.network.Status.ProviderStatus; current != nil {
		if err := json.Unmarshal(current.Raw, &content); err != nil {
			content = map[string]any{}
		}
	}
	config := map[string]any{}
	if err := json.Unmarshal(kept.Written.Config.Config, &config); err != nil {
		return nil, err
	}
	delete(config, "apiVersion")
	delete(config, "kind")
	config["clusterCIDR"], config["serviceCIDR"] = w.network.Spec.EffectivePodCIDR(), w.network.Spec.ServiceCIDR
	content["config"] = config
	delete(content, "warnings")
	if len(kept.Written.Warnings) > 0 {
		content["warnings"] = kept.Written.Warnings
	}
	if definition, known := w.Pipeline.Plugin(w.network.Spec.Type); known {
		content["apiVersion"], content["kind"] = definition.StatusTypeMeta()
	}
	raw, err := json.Marshal(content)
	return &runtime.RawExtension{Raw: raw}, err
}

// mostNote is the longest note of an event that the API server takes, in bytes.
const mostNote = 1024

// tell records an event about several things at once: the API server takes events
// that differ in their notes only for one.
func (w *work) tell(reason string, lines []string) {
	if len(lines) == 0 {
		return
	}
	note := strings.Join(lines, "; ")
	if len(note) > mostNote {
		note = strings.ToValidUTF8(note[:mostNote-len("…")], "") + "…"
	}
	w.recorder.Eventf(w.network, nil, corev1.EventTypeWarning, reason, "Reconcile", "%s", note)
}

// tellWarnings tells of the warnings that were not there before.
func (w *work) tellWarnings(before *runtime.RawExtension, kept *state.State) {
	var lines []string
	for _, warning := range kept.Written.Warnings {
		quoted, _ := json.Marshal(warning.Message)
		if before == nil || !strings.Contains(string(before.Raw), string(quoted)) {
			lines = append(lines, warning.String())
		}
	}
	w.tell("ConfigurationWarning", lines)
}

// tellChanges announces, before it is written, what interrupts traffic.
func (w *work) tellChanges(changes []pipeline.Change) {
	var lines []string
	for _, change := range changes {
		if change.Class == plugin.Disruptive {
			lines = append(lines, change.Path+": "+change.Reason)
		}
	}
	w.tell("DisruptiveChange", lines)
}
