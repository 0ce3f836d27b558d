// SPDX-License-Identifier: Apache-2.0

package shoot

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	"github.com/trellis-network/trellis/plugin"
)

const (
	// systemComponentsHealthy is the Shoot's condition that a Network has a part in.
	systemComponentsHealthy = "SystemComponentsHealthy"
	// ConfigurationInForce is the constraint of a Shoot that is False when its
	// network's configuration has warnings: it is not in force just as written, or
	// something in it has no effect. Without warnings it is absent.
	ConfigurationInForce = "NetworkConfigurationInForce"
	// configurationWarnings is the reason of that constraint.
	configurationWarnings = "ConfigurationWarnings"
)

func isOurs(c corev1beta1.Condition) bool {
	return c.Type == systemComponentsHealthy || c.Type == ConfigurationInForce
}

// now has the precision that the API stores.
func (op *operation) now() metav1.Time { return metav1.NewTime(op.clock.Now()).Rfc3339Copy() }

// report writes how the pass ended into the Shoot's status, if that is news.
func (op *operation) report(ctx context.Context, end ending) error {
	status := &op.shoot.Status
	if !isDeleting(op.shoot) {
		op.reportHealth()
		op.reportWarnings()
	}
	op.reportOperation(end)
	status.ObservedGeneration = op.shoot.Generation
	return op.writeStatus(ctx)
}

// writeStatus stores the status if it differs from what is stored.
func (op *operation) writeStatus(ctx context.Context) error {
	if apiequality.Semantic.DeepEqual(op.stored.Status, op.shoot.Status) {
		return nil
	}
	patch := client.MergeFromWithOptions(op.stored, client.MergeFromWithOptimisticLock{})
	if err := op.client.Status().Patch(ctx, op.shoot, patch); err != nil {
		return fmt.Errorf("write the Shoot's status: %w", err)
	}
	op.stored = op.shoot.DeepCopy()
	return nil
}

func (op *operation) reportOperation(end ending) {
	state, description, errs := op.outcome(end)
	status := &op.shoot.Status
	before := status.LastOperation
	operation := corev1beta1.LastOperation{
		Type: op.operationType(state), State: state, Description: description,
		Progress: progress(end), LastUpdateTime: op.now(),
	}
	if before != nil && status.ObservedGeneration == op.shoot.Generation {
		sameTime := operation
		sameTime.LastUpdateTime = before.LastUpdateTime
		if sameTime == *before {
			operation = sameTime
		}
	}
	status.LastOperation = &operation
	for i := range errs {
		now := op.now()
		errs[i].LastUpdateTime = &now
		for _, old := range status.LastErrors {
			if old.Description == errs[i].Description && slices.Equal(old.Codes, errs[i].Codes) && old.LastUpdateTime != nil {
				errs[i].LastUpdateTime = old.LastUpdateTime
			}
		}
	}
	status.LastErrors = errs
}

func progress(end ending) int32 {
	return max(1, int32(100*end.done/len(end.steps)))
}

// outcome puts the end of a pass into words.
func (op *operation) outcome(end ending) (corev1beta1.LastOperationState, string, []corev1beta1.LastError) {
	var wait waiting
	switch {
	case end.err == nil:
		return corev1beta1.LastOperationStateSucceeded, op.success(), nil
	case errors.As(end.err, &wait):
		return corev1beta1.LastOperationStateProcessing, upperFirst(wait.Error()), op.lastNetworkError()
	}
	task := end.steps[end.done].name
	failure := corev1beta1.LastError{Description: upperFirst(end.err.Error()), TaskID: &task}
	var p problem
	if errors.As(end.err, &p) {
		failure.Codes = p.codes
	} else {
		failure.Description += ". This will be retried."
	}
	return corev1beta1.LastOperationStateError, failure.Description, []corev1beta1.LastError{failure}
}

// lastNetworkError is the error that the Network is trying to get over, if that
// is about its present spec.
func (op *operation) lastNetworkError() []corev1beta1.LastError {
	if isDeleting(op.shoot) || !op.networkCounts() || op.network.Status.LastError == nil {
		return nil
	}
	task := awaitingNetwork
	p := networkProblem(op.network)
	return []corev1beta1.LastError{{Description: upperFirst(p.description), Codes: p.codes, TaskID: &task}}
}

func (op *operation) success() string {
	switch n := len(op.warnings()); {
	case op.isWorkerless():
		return "Successfully reconciled Shoot: without workers it has no pod network"
	case n == 1:
		return "Successfully reconciled Shoot, with a warning: see the constraint " + ConfigurationInForce
	case n > 1:
		return fmt.Sprintf("Successfully reconciled Shoot, with %d warnings: see the constraint %s", n, ConfigurationInForce)
	default:
		return "Successfully reconciled Shoot"
	}
}

// operationType stays Create until the first success, and while nothing new
// happens it stays what it was.
func (op *operation) operationType(state corev1beta1.LastOperationState) corev1beta1.LastOperationType {
	before := op.shoot.Status.LastOperation
	const succeeded = corev1beta1.LastOperationStateSucceeded
	switch {
	case isDeleting(op.shoot):
		return corev1beta1.LastOperationTypeDelete
	case before == nil:
		return corev1beta1.LastOperationTypeCreate
	case before.State != succeeded, state == succeeded && op.shoot.Status.ObservedGeneration == op.shoot.Generation:
		return before.Type
	default:
		return corev1beta1.LastOperationTypeReconcile
	}
}

// reportHealth copies the condition that controller/networkstatus wrote.
func (op *operation) reportHealth() {
	conditions := slices.DeleteFunc(op.shoot.Status.Conditions, func(c corev1beta1.Condition) bool { return c.Type == systemComponentsHealthy })
	if op.network != nil {
		for _, condition := range op.network.Status.Conditions {
			if condition.Type == systemComponentsHealthy {
				conditions = append(conditions, condition)
			}
		}
	}
	op.shoot.Status.Conditions = conditions
}

// warnings are those of the Network's author, in the terms of the Shoot's.
func (op *operation) warnings() []plugin.Warning {
	if op.network == nil {
		return nil
	}
	warnings := warningsIn(op.network.Status.ProviderStatus)
	for i := range warnings {
		warnings[i].Field, warnings[i].Message = inShootTerms(warnings[i].Field), inShootTerms(warnings[i].Message)
	}
	return warnings
}

func warningsIn(providerStatus *runtime.RawExtension) []plugin.Warning {
	if providerStatus == nil {
		return nil
	}
	var status struct {
		Warnings []plugin.Warning `json:"warnings"`
	}
	if json.Unmarshal(providerStatus.Raw, &status) != nil {
		return nil
	}
	return status.Warnings
}

// reportWarnings keeps the constraint in step with a Network whose status is
// about its present spec.
func (op *operation) reportWarnings() {
	if op.network != nil && !op.networkCounts() {
		return
	}
	var before *corev1beta1.Condition
	status := &op.shoot.Status
	if i := slices.IndexFunc(status.Constraints, func(c corev1beta1.Condition) bool { return c.Type == ConfigurationInForce }); i >= 0 {
		before = status.Constraints[i].DeepCopy()
		status.Constraints = slices.Delete(status.Constraints, i, i+1)
	}
	warnings := op.warnings()
	if len(warnings) == 0 {
		return
	}
	lines := make([]string, 0, len(warnings))
	for _, warning := range warnings {
		lines = append(lines, warning.String())
	}
	constraint := corev1beta1.Condition{
		Type: ConfigurationInForce, Status: corev1beta1.ConditionFalse, Reason: configurationWarnings,
		Message:            strings.Join(lines, "\n"),
		LastTransitionTime: op.now(), LastUpdateTime: op.now(),
	}
	if before != nil && before.Status == constraint.Status {
		constraint.LastTransitionTime = before.LastTransitionTime
		if before.Message == constraint.Message && before.Reason == constraint.Reason {
			constraint.LastUpdateTime = before.LastUpdateTime
		}
	}
	status.Constraints = append(status.Constraints, constraint)
}

// upperFirst begins a sentence, unless it begins with a field path.
func upperFirst(text string) string {
	if strings.HasPrefix(text, "spec.") {
		return text
	}
	first, size := utf8.DecodeRuneInString(text)
	return string(unicode.ToUpper(first)) + text[size:]
}
