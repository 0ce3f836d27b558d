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

// untilGone waits until an object that was deleted is gone. An error that its controller has
// reported of the deletion becomes the Shoot's at once. After the timeout the error that its status
// has becomes the Shoot's, whatever that is about, or that nothing has come of the deletion
// (Gardener's contract, 2.8).
func (w wait) untilGone(object extensionsv1alpha1.Object, now time.Time) outcome.Outcome {
	status := object.GetExtensionStatus()
	failure, last := status.LastError, status.LastOperation
	failed := failure != nil && last != nil &&
		last.Type == corev1beta1.LastOperationTypeDelete && last.State == corev1beta1.LastOperationStateError
	name := fmt.Sprintf("the %s %s/%s", w.kind, object.GetNamespace(), object.GetName())
	waited := now.Sub(deletedAt(object))
	switch {
	case failure != nil && (failed || waited >= w.timeout):
		return outcome.Fail(errors.New(failure.Description), failure.Codes...)
	case waited >= w.timeout:
		return outcome.Fail(fmt.Errorf("%s, which was deleted, is not gone after %s: its controller in the seed must remove its finalizers", name, w.timeout))
	case failure != nil:
		return outcome.Wait(name+" is gone: its last error: "+failure.Description, w.timeout-waited)
	}
	return outcome.Wait(name+" is gone", w.timeout-waited)
}

// deletedAt returns when the deletion of an object was last requested. One that a user has deleted
// has the timestamp of another request.
func deletedAt(object extensionsv1alpha1.Object) time.Time {
	requested := requestedAt(object)
	if deletion := object.GetDeletionTimestamp(); deletion != nil && deletion.After(requested) {
		return deletion.Time
	}
	return requested
}
