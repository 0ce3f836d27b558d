// SPDX-License-Identifier: Apache-2.0

package network

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/internal/condition"
	"github.com/trellis-network/trellis/internal/metrics"
	"github.com/trellis-network/trellis/internal/outcome"
	"github.com/trellis-network/trellis/pipeline"
	"github.com/trellis-network/trellis/plugin"
)

// statusWriter is the one writer of this controller's part of a Network's status, of its
// events, and of the log lines about changes of its state.
type statusWriter struct {
	client   client.Client
	recorder events.EventRecorder
	clock    clock.PassiveClock
	pipeline *pipeline.Pipeline
	*localState
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

// processing reports that the operation begins. observedGeneration and lastError stay (N4).
// Unless an operation was asked for, or what is written has changed, a status that reports so
// already stays, and so does the error of an attempt that is repeated: awaiting reports once
// that attempt gets further.
func (w *statusWriter) processing(ctx context.Context, run *run) error {
	return w.patch(ctx, run, func() {
		last := run.Network.Status.LastOperation
		repeated := last != nil && last.Type == run.operation && (isProcessing(last) ||
			last.State == corev1beta1.LastOperationStateError && run.Network.Status.ObservedGeneration == run.request.generation)
		if run.asksForOperation || run.changed || !repeated {
			run.setProcessing(w.clock.Now())
		}
	})
}

// awaiting reports what is waited for: the facts, or that what failed before and is written
// now is applied. A user may have removed the operation.
func (w *statusWriter) awaiting(ctx context.Context, run *run) error {
	return w.patch(ctx, run, func() {
		last := run.Network.Status.LastOperation
		switch {
		case run.waitsFor != "" && (last == nil || last.Description != run.waitsFor):
			run.setOperation(w.clock.Now(), corev1beta1.LastOperationStateProcessing, 1, run.waitsFor)
		case run.waitsFor != "":
		case last == nil, run.Network.HasSucceeded(), run.wrote && last.State == corev1beta1.LastOperationStateError,
			last.State == corev1beta1.LastOperationStateProcessing && !isProcessing(last):
			run.setProcessing(w.clock.Now())
		}
	})
}

// isProcessing reports whether an operation has begun. One that waits for its Cluster has not.
func isProcessing(last *corev1beta1.LastOperation) bool {
	return last.State == corev1beta1.LastOperationStateProcessing && last.Description == descriptions[last.Type].processing
}

func (r *run) setProcessing(now time.Time) {
	r.setOperation(now, corev1beta1.LastOperationStateProcessing, 1, descriptions[r.operation].processing)
}

// applied reports that what was written is applied, and what is in force. In a hibernated shoot
// it is not applied yet, and in force once the shoot wakes up.
func (w *statusWriter) applied(ctx context.Context, run *run) error {
	shown, err := w.providerStatus(run)
	if err != nil {
		return err
	}
	written, before := run.State.Written, run.Network.Status
	if !run.State.Unapplied {
		run.State.Applied, run.State.TakenOver = written.Config, nil
	}
	err = w.patch(ctx, run, func() {
		run.updateApplied(w.clock.Now())
		run.setSucceeded(w.clock.Now(), written.Generation)
		run.Network.Status.IPFamilies, run.Network.Status.ProviderStatus = written.IPFamilies, shown
	})
	if err != nil {
		return err
	}
	if started, known := w.starts.Get(client.ObjectKeyFromObject(run.Network)); known {
		metrics.Applied(run.Network.Spec.Type, w.clock.Since(started.at))
	}
	w.announced.Delete(client.ObjectKeyFromObject(run.Network))
	w.announceWarnings(run, before.ProviderStatus)
	if run.Network.RequestedOperation() != extensionsv1alpha1.OperationRestore {
		return nil
	}
	return answer(ctx, w.client, run.Network, extensionsv1alpha1.OperationRestore)
}

// observed are the keys of the providerStatus that another writer has.
var observed = []string{"components", "rollouts", "connectivityTests", "networkModules", "transition"}

// unchanged writes the state. Of a network that has all that its spec asks for, it replaces a
// providerStatus in which another program or release has left something that this one does not
// say. One that only lacks something is no reason to write to all Networks of a seed at once.
func (w *statusWriter) unchanged(ctx context.Context, run *run) error {
	shown := run.Network.Status.ProviderStatus
	if run.builds && run.unchanged && !run.held && run.Network.HasSucceeded() {
		own, err := w.providerStatus(run)
		if err != nil {
			return err
		}
		said := valueOf(shown)
		if keys, isObject := said.(map[string]any); isObject {
			for _, key := range observed {
				delete(keys, key)
			}
		}
		if !isPartOf(said, valueOf(own)) {
			shown = own
		}
	}
	return w.patch(ctx, run, func() { run.Network.Status.ProviderStatus = shown })
}

// valueOf returns what is in a field of any JSON.
func valueOf(field *runtime.RawExtension) (value any) {
	if field == nil || json.Unmarshal(field.Raw, &value) != nil {
		return map[string]any{}
	}
	return value
}

// isPartOf reports whether a JSON value has nothing that another one does not have.
func isPartOf(value, other any) bool {
	some, isObject := value.(map[string]any)
	all, areObjects := other.(map[string]any)
	if !isObject || !areObjects {
		return reflect.DeepEqual(value, other)
	}
	for key := range some {
		if theirs, has := all[key]; !has || !isPartOf(some[key], theirs) {
			return false
		}
	}
	return true
}

func (r *run) setSucceeded(now time.Time, generation int64) {
	r.setOperation(now, corev1beta1.LastOperationStateSucceeded, 100, descriptions[r.operation].succeeded)
	r.Network.Status.LastError = nil
	r.Network.Status.ObservedGeneration = generation
}

// failed reports what went wrong. The same error about the same generation is not
// written twice, and another one instead of it only so often: it may be what the cluster answers.
func (w *statusWriter) failed(ctx context.Context, run *run, ended outcome.Outcome) error {
	description := condition.Shorten(descriptions[run.operation].failed+": "+ended.Err().Error(), condition.MaxMessage)
	status := &run.Network.Status
	if status.LastError != nil && status.ObservedGeneration == run.generation && status.LastOperation != nil &&
		status.LastOperation.State == corev1beta1.LastOperationStateError {
		same := status.LastError.Description == description && slices.Equal(status.LastError.Codes, ended.Codes())
		if !same {
			run.untold = w.told.Spend(run.Network, w.clock.Now())
		}
		if same || run.untold > 0 {
			return w.patch(ctx, run, func() {})
		}
	}
	return w.patch(ctx, run, func() {
		run.setOperation(w.clock.Now(), corev1beta1.LastOperationStateError, 50, description)
		now := run.Network.Status.LastOperation.LastUpdateTime
		run.Network.Status.LastError = &corev1beta1.LastError{Description: description, Codes: ended.Codes(), LastUpdateTime: &now}
		run.Network.Status.ObservedGeneration = run.generation
	})
}

func (r *run) setOperation(now time.Time, state corev1beta1.LastOperationState, progress int32, description string) {
	r.Network.Status.LastOperation = &corev1beta1.LastOperation{
		Type: r.operation, State: state, Progress: progress, Description: description,
		LastUpdateTime: metav1.NewTime(now).Rfc3339Copy(),
	}
}

// patch is the one writer of a status: it writes what change does to it, and the
// state, if that makes a difference. A change of the operation's state becomes an event
// and a log line.
func (w *statusWriter) patch(ctx context.Context, run *run, change func()) error {
	before := run.Network.DeepCopy()
	change()
	var encoded *runtime.RawExtension
	if run.State != nil {
		var err error
		if encoded, err = run.State.Encode(); err != nil {
			return err
		}
		if !bytes.Equal(encoded.Raw, run.stored) { // fields of other versions stay while nothing changes
			run.Network.Status.State = encoded
		}
	}
	difference, err := differenceOf(before, run.Network)
	if err != nil || difference == nil {
		return err
	}
	if err := w.client.Status().Patch(ctx, run.Network, client.RawPatch(types.MergePatchType, difference)); err != nil {
		run.Network, run.tooLarge = before, outcome.IsTooLarge(err) // what could not be written must still be told
		return fmt.Errorf("write the status of the Network: %w", err)
	}
	if encoded != nil {
		run.stored = encoded.Raw
	}
	w.announceTransition(ctx, run, before)
	return nil
}

// differenceOf returns the merge patch that makes before the present Network, nil if they are the
// same. Where the present one has no error, the patch also removes one that before does not have:
// the cache may not show one yet that the API server has stored without an answer.
func differenceOf(before, now *extensionsv1alpha1.Network) ([]byte, error) {
	base, next := patched(before, now)
	same := `{}`
	if now.Status.LastError == nil {
		if base.Status.LastError == nil {
			same = `{"status":{"lastError":null}}`
		}
		base.Status.LastError = &corev1beta1.LastError{}
	}
	difference, err := client.MergeFrom(base).Data(next)
	if err != nil || string(difference) == same {
		return nil, err
	}
	return difference, nil
}

// patched returns what a patch that leaves the spec alone makes of a Network, for client.Patch to compare: it encodes
// both, and decodes them again. What is the same and large is in neither.
func patched(before, now *extensionsv1alpha1.Network) (base, next *extensionsv1alpha1.Network) {
	base, next = ptr.To(*before), ptr.To(*now)
	base.Spec, next.Spec = extensionsv1alpha1.NetworkSpec{}, extensionsv1alpha1.NetworkSpec{}
	if s := now.Status.State; s != nil && before.Status.State != nil && bytes.Equal(before.Status.State.Raw, s.Raw) {
		base.Status.State, next.Status.State = nil, nil
	}
	return base, next
}

// announceTransition logs and announces a change of the last operation.
func (w *statusWriter) announceTransition(ctx context.Context, run *run, before *extensionsv1alpha1.Network) {
	if run.Network.Status.LastOperation == nil {
		return
	}
	transition := outcome.Transition{
		Network: client.ObjectKeyFromObject(run.Network), Type: run.Network.Spec.Type,
		Before: ptr.Deref(before.Status.LastOperation, corev1beta1.LastOperation{}), After: *run.Network.Status.LastOperation,
	}
	if transition.Before.State == corev1beta1.LastOperationStateProcessing {
		transition.Duration = w.clock.Since(transition.Before.LastUpdateTime.Time)
	}
	transition.Log(logf.FromContext(ctx))
	if !run.confirms() || transition.After.State == corev1beta1.LastOperationStateError {
		transition.Announce(w.recorder, run.Network)
	}
}

// providerStatus returns the plugin's status with what is in force. What another writer
// observes of the components that there are and, with its condition, of the connectivity stays
// as it is, and nothing else does: other programs and releases have left it.
func (w *statusWriter) providerStatus(r *run) (*runtime.RawExtension, error) {
	var current struct {
		Components        map[string]any `json:"components"`
		Rollouts          map[string]any `json:"rollouts"`
		ConnectivityTests map[string]any `json:"connectivityTests"`
		NetworkModules    map[string]any `json:"networkModules"`
		Transition        map[string]any `json:"transition"`
	}
	if present := r.Network.Status.ProviderStatus; present == nil || json.Unmarshal(present.Raw, &current) != nil {
		current.Components, current.Rollouts, current.ConnectivityTests, current.NetworkModules, current.Transition = nil, nil, nil, nil, nil
	}
	content, config := map[string]any{}, map[string]any{}
	for key, of := range map[string]map[string]any{"components": current.Components, "rollouts": current.Rollouts} {
		maps.DeleteFunc(of, func(name string, _ any) bool {
			isNetworks := slices.ContainsFunc(r.State.Components, func(c plugin.Component) bool { return c.Name == name })
			return !isNetworks && name != extensionsv1alpha1.KubeProxyComponent
		})
		if len(of) > 0 {
			content[key] = of
		}
	}
	if condition.Get(r.Network.Status.Conditions, extensionsv1alpha1.PodNetworkAvailable) != nil {
		if len(current.ConnectivityTests) > 0 {
			content["connectivityTests"] = current.ConnectivityTests
		}
		if len(current.NetworkModules) > 0 {
			content["networkModules"] = current.NetworkModules
		}
	}
	if condition.Get(r.Network.Status.Conditions, extensionsv1alpha1.TransitionProgressing) != nil && len(current.Transition) > 0 {
		content["transition"] = current.Transition
	}
	if err := json.Unmarshal(r.State.Written.Config.Config, &config); err != nil {
		return nil, err
	}
	delete(config, "apiVersion")
	delete(config, "kind")
	config["clusterCIDR"], config["serviceCIDR"] = r.Network.Spec.EffectivePodCIDR(), r.Network.Spec.ServiceCIDR
	content["config"] = config
	if line, err := w.pipeline.DataPath(r.Network.Spec.Type, r.State.Written.Config); err == nil && line != "" {
		content["dataPath"] = line
	}
	if len(r.State.Written.Warnings) > 0 {
		content["warnings"] = r.State.Written.Warnings
	}
	content["apiVersion"], content["kind"] = r.Plugin.StatusTypeMeta()
	raw, err := json.Marshal(content)
	return &runtime.RawExtension{Raw: raw}, err
}
