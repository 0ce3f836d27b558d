// SPDX-License-Identifier: Apache-2.0

package network

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/internal/metrics"
	"github.com/trellis-network/trellis/internal/outcome"
)

// conclude turns the outcome of a run into the status, the events, the log line, the
// metrics, and the answer for controller-runtime. Only record and begin, which must report
// before something is written, and reportGone patch a status earlier.
func (r *Reconciler) conclude(ctx context.Context, run *run, ended outcome.Outcome) (ctrl.Result, error) {
	defer run.release()
	defer func() {
		r.networks.Expect(client.ObjectKeyFromObject(run.network), "", run.network.ResourceVersion)
	}()
	r.remember(run, ended)
	if run.finalized || ctx.Err() != nil || isGone(ended.Err()) {
		return result(ended)
	}
	ctx, cancel := context.WithTimeout(ctx, statusTimeout)
	defer cancel()
	var err error
	switch {
	case run.applied:
		err = r.reportApplied(ctx, run)
	case ended.IsReported():
		err = r.reportError(ctx, run, ended)
	case ended.Err() == nil && ended.Kind() != outcome.Stale:
		err = r.patchStatus(ctx, run, func() {})
	}
	switch {
	case err == nil, isGone(err):
		return result(ended)
	case ended.IsReported():
		logf.FromContext(ctx).Info("The error could not be written into the status", "reason", err.Error())
		if ended.Kind() == outcome.Retry {
			return result(ended)
		}
	}
	return result(outcome.TryAgain(err))
}

// remember keeps what the next run of this process must know.
func (r *Reconciler) remember(run *run, ended outcome.Outcome) {
	name := client.ObjectKeyFromObject(run.network)
	switch {
	case run.managed == nil: // nothing was looked at
	case ended.Err() != nil && ended.Kind() != outcome.Terminal:
		r.finished.Delete(name)
	default:
		r.finished.Set(name, run.network.UID)
	}
}

// result is the answer for controller-runtime. A Network that is gone needs no other run.
func result(ended outcome.Outcome) (ctrl.Result, error) {
	if isGone(ended.Err()) {
		return ctrl.Result{}, nil
	}
	return ended.Result()
}

// isGone reports whether a request came too late for its Network.
func isGone(err error) bool {
	var answer apierrors.APIStatus
	if !apierrors.IsNotFound(err) || !errors.As(err, &answer) {
		return false
	}
	details := answer.Status().Details
	return details != nil && details.Group == extensionsv1alpha1.GroupVersion.Group && details.Kind == "networks"
}

// explainTimeout makes an error of the run that was cut off by its own timeout tell so.
func (r *Reconciler) explainTimeout(ctx, limited context.Context, ended outcome.Outcome) outcome.Outcome {
	if ended.Kind() != outcome.Retry || limited.Err() == nil || ctx.Err() != nil {
		return ended
	}
	err := fmt.Errorf("not done within %s: %w", r.Timeout, ended.Err())
	return outcome.TryAgain(err, r.codesOf(err)...)
}

// descriptions are what lastOperation says while an operation is processed, when it has
// succeeded, and before an error (N4, N5).
var descriptions = map[corev1beta1.LastOperationType]struct{ processing, succeeded, failed string }{
	corev1beta1.LastOperationTypeCreate:    {"Reconciling the Network", "Successfully reconciled Network", "Error reconciling Network"},
	corev1beta1.LastOperationTypeReconcile: {"Reconciling the Network", "Successfully reconciled Network", "Error reconciling Network"},
	corev1beta1.LastOperationTypeRestore:   {"Restoring the Network", "Successfully restored Network", "Error restoring Network"},
	corev1beta1.LastOperationTypeMigrate:   {"Migrating the Network", "Successfully migrated Network", "Error migrating Network"},
	corev1beta1.LastOperationTypeDelete:    {"Deleting the Network", "Successfully deleted Network", "Error deleting Network"},
}

// reportProcessing reports that the operation begins. observedGeneration and lastError
// stay (N4). Unless an operation was asked for, a status that says so already stays.
func (r *Reconciler) reportProcessing(ctx context.Context, run *run) error {
	return r.patchStatus(ctx, run, func() {
		last := run.network.Status.LastOperation
		if run.asked || last == nil || last.Type != run.operation || last.State != corev1beta1.LastOperationStateProcessing {
			r.setOperation(run, corev1beta1.LastOperationStateProcessing, 1, descriptions[run.operation].processing)
		}
	})
}

// reportApplied reports that what was written is applied, and what is in force.
func (r *Reconciler) reportApplied(ctx context.Context, run *run) error {
	shown, err := run.providerStatus()
	if err != nil {
		return err
	}
	written, before := run.state.Written, run.network.Status
	run.state.Applied, run.state.TakenOver = written.Config, nil
	err = r.patchStatus(ctx, run, func() {
		r.setSucceeded(run, written.Generation)
		run.network.Status.IPFamilies, run.network.Status.ProviderStatus = written.IPFamilies, shown
	})
	if err != nil {
		return err
	}
	if last := before.LastOperation; last != nil {
		metrics.Applied(run.network.Spec.Type, r.Clock.Since(last.LastUpdateTime.Time))
	}
	r.announceWarnings(run, before.ProviderStatus)
	return r.answer(ctx, run.network, extensionsv1alpha1.OperationRestore)
}

func (r *Reconciler) setSucceeded(run *run, generation int64) {
	r.setOperation(run, corev1beta1.LastOperationStateSucceeded, 100, descriptions[run.operation].succeeded)
	run.network.Status.LastError = nil
	run.network.Status.ObservedGeneration = generation
}

// reportError reports what went wrong. The same error about the same generation is not
// written twice.
func (r *Reconciler) reportError(ctx context.Context, run *run, ended outcome.Outcome) error {
	description := descriptions[run.operation].failed + ": " + ended.Err().Error()
	status := &run.network.Status
	if status.LastError != nil && status.LastError.Description == description && slices.Equal(status.LastError.Codes, ended.Codes()) &&
		status.ObservedGeneration == run.generation && status.LastOperation != nil &&
		status.LastOperation.State == corev1beta1.LastOperationStateError {
		return r.patchStatus(ctx, run, func() {})
	}
	return r.patchStatus(ctx, run, func() {
		r.setOperation(run, corev1beta1.LastOperationStateError, 50, description)
		now := run.network.Status.LastOperation.LastUpdateTime
		run.network.Status.LastError = &corev1beta1.LastError{Description: description, Codes: ended.Codes(), LastUpdateTime: &now}
		run.network.Status.ObservedGeneration = run.generation
	})
}

func (r *Reconciler) setOperation(run *run, state corev1beta1.LastOperationState, progress int32, description string) {
	run.network.Status.LastOperation = &corev1beta1.LastOperation{
		Type: run.operation, State: state, Progress: progress, Description: description,
		LastUpdateTime: metav1.NewTime(r.Clock.Now()).Rfc3339Copy(),
	}
}

// patchStatus is the one writer of a status: it writes what change does to it, and the
// state, if that makes a difference. A change of the operation's state becomes an event
// and a log line.
func (r *Reconciler) patchStatus(ctx context.Context, run *run, change func()) error {
	before := run.network.DeepCopy()
	change()
	if run.state != nil && run.stateErr == nil {
		encoded, err := run.state.Encode()
		if err != nil {
			return err
		}
		if len(encoded.Raw) > len("{}") || before.Status.State != nil {
			run.network.Status.State = encoded
		}
	}
	patch := client.MergeFrom(before)
	if difference, err := patch.Data(run.network); err != nil || string(difference) == "{}" {
		return err
	}
	if err := r.client.Status().Patch(ctx, run.network, patch); err != nil {
		run.network = before // what could not be written must still be told
		return fmt.Errorf("write the status of the Network: %w", err)
	}
	r.announceTransition(ctx, run, before)
	return nil
}

// providerStatus returns the plugin's status with what is in force. Components belong to
// another writer and stay as they are.
func (r *run) providerStatus() (*runtime.RawExtension, error) {
	content := map[string]any{}
	if current := r.network.Status.ProviderStatus; current != nil {
		if err := json.Unmarshal(current.Raw, &content); err != nil {
			content = map[string]any{}
		}
	}
	config := map[string]any{}
	if err := json.Unmarshal(r.state.Written.Config.Config, &config); err != nil {
		return nil, err
	}
	delete(config, "apiVersion")
	delete(config, "kind")
	config["clusterCIDR"], config["serviceCIDR"] = r.network.Spec.EffectivePodCIDR(), r.network.Spec.ServiceCIDR
	content["config"] = config
	delete(content, "warnings")
	if len(r.state.Written.Warnings) > 0 {
		content["warnings"] = r.state.Written.Warnings
	}
	if r.plugin.Type != "" {
		content["apiVersion"], content["kind"] = r.plugin.StatusTypeMeta()
	}
	raw, err := json.Marshal(content)
	return &runtime.RawExtension{Raw: raw}, err
}
