// SPDX-License-Identifier: Apache-2.0

package shoot

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	"github.com/trellis-network/trellis/internal/condition"
	"github.com/trellis-network/trellis/internal/keyed"
	"github.com/trellis-network/trellis/internal/metrics"
	"github.com/trellis-network/trellis/internal/outcome"
	"github.com/trellis-network/trellis/plugin"
)

const (
	// systemComponentsHealthy is the condition that the Shoot has from its Network.
	systemComponentsHealthy = "SystemComponentsHealthy"
	// ConfigurationInForce is the constraint of a Shoot that is False when the
	// configuration of its network has warnings: what is in force differs from what the
	// user wrote, a field has no effect, or the Shoot has a name that a new one must not
	// have. Without warnings it is absent.
	ConfigurationInForce = "NetworkConfigurationInForce"
	// configurationWarnings is the reason of that constraint.
	configurationWarnings = "ConfigurationWarnings"
)

// ending is how a run ended, and after how many of its stages.
type ending struct {
	outcome.Outcome
	stages []stage
	done   int
}

// reporter is the one writer of the status of Shoots, of their events and their log lines.
type reporter struct {
	client     client.Client
	recorder   events.EventRecorder
	clock      clock.PassiveClock
	operations keyed.Map[types.NamespacedName, operation]
}

// report turns the end of a run into the Shoot's status, the log line, the events, the
// metrics and the answer for controller-runtime.
func (r *reporter) report(ctx context.Context, run *run, ended ending, began time.Time) (reconcile.Result, error) {
	final := r.writeReport(ctx, run, ended)
	metrics.Reconciled(ControllerName, run.networkType(), final, r.clock.Since(began))
	return final.Result()
}

// writeReport writes the status, the log line and the events, and returns the outcome that this
// leaves.
func (r *reporter) writeReport(ctx context.Context, run *run, ended ending) outcome.Outcome {
	if ended.Kind() == outcome.Stale {
		return ended.Outcome
	}
	if !run.released {
		run.setStatus(ended, r.now())
		if err := r.writeStatus(ctx, run); apierrors.IsNotFound(err) {
			return outcome.Finish()
		} else if err != nil {
			return outcome.TryAgain(err)
		}
	}
	r.announce(ctx, run)
	return ended.Outcome
}

// writeStatus stores the status if it has changed. Besides report, only
// identities.establish calls it.
func (r *reporter) writeStatus(ctx context.Context, run *run) error {
	if apiequality.Semantic.DeepEqual(run.stored.Status, run.shoot.Status) {
		return nil
	}
	patch := client.MergeFromWithOptions(run.stored, client.MergeFromWithOptimisticLock{})
	if err := r.client.Status().Patch(ctx, run.shoot, patch); err != nil {
		return fmt.Errorf("write the Shoot's status: %w", err)
	}
	run.stored = run.shoot.DeepCopy()
	return nil
}

// now has the precision that the API stores.
func (r *reporter) now() metav1.Time { return metav1.NewTime(r.clock.Now()).Rfc3339Copy() }

// operation is what this process remembers of an operation on a Shoot.
type operation struct {
	// began is when the operation began, or the process.
	began time.Time
	// recreating reports that an event announced that the network is removed.
	recreating bool
}

// announce writes the log line and the events about what has changed with this run.
func (r *reporter) announce(ctx context.Context, run *run) {
	key := client.ObjectKeyFromObject(run.shoot)
	transition := outcome.Transition{
		Shoot: key, Network: client.ObjectKey{Namespace: run.namespace, Name: run.shoot.Name}, Type: run.networkType(),
		Before: ptr.Deref(run.before, corev1beta1.LastOperation{}), After: ptr.Deref(run.shoot.Status.LastOperation, corev1beta1.LastOperation{}),
	}
	if run.released {
		transition.After = corev1beta1.LastOperation{
			Type: corev1beta1.LastOperationTypeDelete, State: corev1beta1.LastOperationStateSucceeded, Description: "Successfully deleted Shoot",
		}
	}
	was, is := transition.Before, transition.After
	begins := is.Type != was.Type || was.State == corev1beta1.LastOperationStateSucceeded && is.State != was.State
	var last operation
	current := r.operations.Update(key, func(o operation, known bool) (operation, bool) {
		if last = o; !known || begins {
			o.began = r.clock.Now()
		}
		o.recreating = run.isRecreating()
		return o, !run.released
	})
	transition.Duration = r.clock.Since(current.began)
	transition.Log(log.FromContext(ctx))
	switch {
	case current.recreating && !last.recreating:
		outcome.Announce(r.recorder, run.shoot, corev1.EventTypeWarning, "NetworkRemoved", fmt.Sprintf("The control-plane namespace %s was deleted: "+
			"the network is removed from the cluster, and then installed again. Until then pods cannot talk to each other.", run.namespace))
	case !run.released:
		transition.Announce(r.recorder, run.shoot)
	}
}

// setStatus sets the status that a run ends with.
func (run *run) setStatus(ended ending, now metav1.Time) {
	if !isDeleting(run.shoot) {
		run.setHealth()
		run.setWarnings(now)
	}
	run.setOperation(ended, now)
	run.shoot.Status.ObservedGeneration = run.shoot.Generation
}

// setOperation sets lastOperation and lastErrors. An operation or an error that has not
// changed keeps its time.
func (run *run) setOperation(ended ending, now metav1.Time) {
	status := &run.shoot.Status
	before := status.LastOperation
	next := &corev1beta1.LastOperation{
		LastUpdateTime: now, Progress: max(1, int32(100*ended.done/len(ended.stages))),
	}
	failure := run.describe(ended, next)
	next.Type = run.operationType(next.State)
	if before != nil && status.ObservedGeneration == run.shoot.Generation {
		same := *next
		same.LastUpdateTime = before.LastUpdateTime
		if same == *before {
			next = before
		}
	}
	status.LastOperation = next
	if failure == nil {
		status.LastErrors = nil
		return
	}
	failure.LastUpdateTime = &now
	for _, old := range status.LastErrors {
		if old.Description == failure.Description && slices.Equal(old.Codes, failure.Codes) && old.LastUpdateTime != nil {
			failure.LastUpdateTime = old.LastUpdateTime
		}
	}
	status.LastErrors = []corev1beta1.LastError{*failure}
}

// describe sets the state and the description of an operation, and returns its error,
// nil if there is none.
func (run *run) describe(ended ending, operation *corev1beta1.LastOperation) *corev1beta1.LastError {
	switch ended.Kind() {
	case outcome.Done:
		operation.State, operation.Description = corev1beta1.LastOperationStateSucceeded, run.success()
		return nil
	case outcome.Waiting:
		operation.State, operation.Description = corev1beta1.LastOperationStateProcessing, condition.Shorten("Waiting until "+ended.Reason(), condition.MaxMessage)
		return run.lastNetworkError()
	}
	failure := failureOf(ended.Outcome, ended.stages[ended.done].Name)
	if ended.Kind() == outcome.Retry {
		failure.Description += ". This will be retried."
	}
	operation.State, operation.Description = corev1beta1.LastOperationStateError, failure.Description
	return failure
}

// lastNetworkError returns the error that the Network retries, if that is about its
// present spec.
func (run *run) lastNetworkError() *corev1beta1.LastError {
	if isDeleting(run.shoot) || !run.isNetworkCurrent() || run.network.Status.LastError == nil {
		return nil
	}
	return failureOf(networkFailure(run.network), awaitingNetwork)
}

// failureOf describes an error, which may quote what a user wrote.
func failureOf(failed outcome.Outcome, task string) *corev1beta1.LastError {
	const again = 100 // bytes that may be appended
	description := condition.Shorten(capitalized(failed.Err().Error()), condition.MaxMessage-again)
	return &corev1beta1.LastError{Description: description, Codes: failed.Codes(), TaskID: &task}
}

func (run *run) success() string {
	switch n := len(run.warnings()); {
	case run.isWorkerless():
		return "Successfully reconciled Shoot: without workers it has no pod network"
	case n == 1:
		return "Successfully reconciled Shoot, with a warning: see the constraint " + ConfigurationInForce
	case n > 1:
		return fmt.Sprintf("Successfully reconciled Shoot, with %d warnings: see the constraint %s", n, ConfigurationInForce)
	}
	return "Successfully reconciled Shoot"
}

// operationType is Create until the first success, and stays what it was while nothing new
// happens.
func (run *run) operationType(state corev1beta1.LastOperationState) corev1beta1.LastOperationType {
	before := run.shoot.Status.LastOperation
	const succeeded = corev1beta1.LastOperationStateSucceeded
	switch {
	case isDeleting(run.shoot):
		return corev1beta1.LastOperationTypeDelete
	case before == nil:
		return corev1beta1.LastOperationTypeCreate
	case before.State != succeeded, state == succeeded && run.shoot.Status.ObservedGeneration == run.shoot.Generation:
		return before.Type
	}
	return corev1beta1.LastOperationTypeReconcile
}

// setHealth copies the Network's condition, with its times.
func (run *run) setHealth() {
	status := &run.shoot.Status
	status.Conditions, _ = condition.Remove(status.Conditions, systemComponentsHealthy)
	if run.network == nil {
		return
	}
	if healthy := condition.Get(run.network.Status.Conditions, systemComponentsHealthy); healthy != nil {
		status.Conditions = append(status.Conditions, *healthy)
	}
}

// setWarnings sets the constraint with the Network's warnings, unless they are about
// another spec.
func (run *run) setWarnings(now metav1.Time) {
	if run.network != nil && !run.isNetworkCurrent() {
		return
	}
	status := &run.shoot.Status
	warnings := run.warnings()
	if len(warnings) == 0 {
		status.Constraints, _ = condition.Remove(status.Constraints, ConfigurationInForce)
		return
	}
	lines := make([]string, 0, len(warnings))
	for _, warning := range warnings {
		lines = append(lines, warning.String())
	}
	status.Constraints, _ = condition.Set(status.Constraints, corev1beta1.Condition{
		Type: ConfigurationInForce, Status: corev1beta1.ConditionFalse, Reason: configurationWarnings,
		Message: condition.Shorten(strings.Join(lines, "\n"), condition.MaxMessage),
	}, now.Time)
}

// warnings returns the warnings about a Shoot: about its name, if it has a control plane
// nevertheless, and those in the Network's status.
func (run *run) warnings() []plugin.Warning {
	warnings := run.networkWarnings()
	if ambiguous := ambiguousName(run.shoot); ambiguous != nil && run.shoot.Status.TechnicalID != "" {
		warnings = append(warnings, *ambiguous)
	}
	return warnings
}

// networkWarnings returns the warnings in the Network's status, with the field paths of the
// Shoot. A providerStatus of another program has none.
func (run *run) networkWarnings() []plugin.Warning {
	var status struct {
		Warnings []plugin.Warning `json:"warnings"`
	}
	if run.network == nil || run.network.Status.ProviderStatus == nil ||
		json.Unmarshal(run.network.Status.ProviderStatus.Raw, &status) != nil {
		return nil
	}
	for i := range status.Warnings {
		w := &status.Warnings[i]
		w.Field, w.Message = withShootPaths(w.Field), withShootPaths(w.Message)
	}
	return status.Warnings
}

// capitalized begins a sentence with a capital letter, unless it begins with a field path.
func capitalized(text string) string {
	if strings.HasPrefix(text, "spec.") || strings.HasPrefix(text, "metadata.") {
		return text
	}
	first, size := utf8.DecodeRuneInString(text)
	return string(unicode.ToUpper(first)) + text[size:]
}
