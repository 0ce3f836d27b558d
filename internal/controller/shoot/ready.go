// SPDX-License-Identifier: Apache-2.0

package shoot

import (
	"errors"
	"fmt"
	"time"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/internal/outcome"
)

// wait is how a gardenlet waits for the controllers of one kind of extension objects.
type wait struct {
	kind string
	// patience is how long an error in the status may be about a former request, unless the
	// status shows that it is about the last one. A gardenlet gives up on an error after it.
	patience time.Duration
	// timeout is how long the controller may take.
	timeout time.Duration
}

// The waits are those of gardenlets (for ControlPlanes see also Gardener's contract, 2.8). An
// infrastructure takes minutes to make: a NAT gateway alone takes up to five.
var (
	forInfrastructure = wait{"Infrastructure", 3 * time.Minute, 10 * time.Minute}
	forControlPlane   = wait{"ControlPlane", 30 * time.Second, 3 * time.Minute}
)

// until waits until an object is ready. Its error becomes the Shoot's.
func (w wait) until(object extensionsv1alpha1.Object, now time.Time) outcome.Outcome {
	reason := unready(object)
	failure := object.GetExtensionStatus().LastError
	name := fmt.Sprintf("the %s %s/%s", w.kind, object.GetNamespace(), object.GetName())
	waited := now.Sub(requestedAt(object))
	switch {
	case reason == "" && failure == nil:
		return outcome.Continue()
	case failure != nil && (hasFailed(object) || waited >= w.patience):
		return outcome.Fail(errors.New(failure.Description), failure.Codes...)
	case failure != nil:
		return outcome.Wait(name+" is ready: error during reconciliation: "+failure.Description, w.patience-waited)
	case waited >= w.timeout:
		return outcome.Fail(fmt.Errorf("%s is not ready after %s: %s", name, w.timeout, reason))
	}
	return outcome.Wait(name+" is ready: "+reason, w.timeout-waited)
}

// isReady reports whether an object shows the success of the last request.
func isReady(object extensionsv1alpha1.Object) bool {
	return unready(object) == "" && object.GetExtensionStatus().LastError == nil
}

// unready returns why an object does not show the success of the last request, by the checks of
// Gardener's contract but for the first, the error in its status; empty if it does.
func unready(object extensionsv1alpha1.Object) string {
	status := object.GetExtensionStatus()
	operation, requested := object.GetAnnotations()[extensionsv1alpha1.OperationAnnotation]
	last := status.LastOperation
	switch {
	case status.ObservedGeneration != object.GetGeneration():
		return fmt.Sprintf("observed generation outdated (%d/%d)", status.ObservedGeneration, object.GetGeneration())
	case requested:
		return fmt.Sprintf("gardener operation %q is not yet picked up by controller", operation)
	case last == nil:
		return "its controller has not reported an operation"
	case requestedAt(object).Truncate(time.Second).After(last.LastUpdateTime.Time):
		return "its controller has not reported an operation since the last request"
	case last.State != corev1beta1.LastOperationStateSucceeded:
		return fmt.Sprintf("extension state is not succeeded but %s", last.State)
	}
	return ""
}

// hasFailed reports whether the last operation has failed, and is about the last request.
func hasFailed(object extensionsv1alpha1.Object) bool {
	status := object.GetExtensionStatus()
	_, requested := object.GetAnnotations()[extensionsv1alpha1.OperationAnnotation]
	last := status.LastOperation
	return !requested && status.ObservedGeneration == object.GetGeneration() && last != nil &&
		last.State == corev1beta1.LastOperationStateError && !requestedAt(object).Truncate(time.Second).After(last.LastUpdateTime.Time)
}

// requestedAt returns when a reconciliation was last requested.
func requestedAt(object extensionsv1alpha1.Object) time.Time {
	at, err := time.Parse(time.RFC3339Nano, object.GetAnnotations()[extensionsv1alpha1.TimestampAnnotation])
	if err != nil {
		return object.GetCreationTimestamp().Time
	}
	return at
}
