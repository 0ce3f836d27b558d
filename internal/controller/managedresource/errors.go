// SPDX-License-Identifier: Apache-2.0

package managedresource

import (
	"errors"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	"github.com/trellis-network/trellis/internal/condition"
	"github.com/trellis-network/trellis/internal/outcome"
	"github.com/trellis-network/trellis/internal/shootclient"
)

// failure is an error that the conditions report. Errors of the seed's API server are not
// failures.
//
// It does not unwrap: the conditions must report a conflict in the shoot, and it is retried
// with back-off. A conflict in the seed only shows that a cache was late.
type failure struct {
	// reason of the condition.
	reason string
	err    error
}

// Error implements error. What a shoot answers can be of any length, and gets into logs.
func (f *failure) Error() string { return condition.Shorten(f.err.Error(), condition.MaxMessage) }

// failed ends a run with a failure. One with a code is retried at the sync period or
// when an event arrives, a dispute in its time, and any other with back-off.
func failed(reason string, err error) outcome.Outcome {
	if codes := codesOf(reason, err); len(codes) > 0 {
		return outcome.Fail(&failure{reason, err}, codes...)
	}
	ended := outcome.TryAgain(&failure{reason, err})
	if dispute := new(disputed); errors.As(err, &dispute) {
		return ended.Within(dispute.after)
	}
	return ended
}

// codesOf returns Gardener's codes of an error that retrying soon does not overcome
// (Gardener contract, error codes): it takes other content, another kubeconfig, or, for
// a quota or an admission webhook, a change in the shoot.
func codesOf(reason string, err error) []corev1beta1.ErrorCode {
	switch {
	case isAboutAccess(err), reason == reasonDecodingFailed:
		return []corev1beta1.ErrorCode{corev1beta1.ErrorConfigurationProblem}
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause), errors.As(err, new(*recreating)):
		return nil
	case reason == reasonDeletionFailed && (apierrors.IsInvalid(err) || apierrors.IsForbidden(err)):
		return []corev1beta1.ErrorCode{corev1beta1.ErrorCleanupClusterResources}
	case apierrors.IsInvalid(err), apierrors.IsBadRequest(err), apierrors.IsRequestEntityTooLargeError(err):
		return []corev1beta1.ErrorCode{corev1beta1.ErrorConfigurationProblem}
	case apierrors.IsForbidden(err):
		return []corev1beta1.ErrorCode{corev1beta1.ErrorRetryableConfigurationProblem}
	}
	return nil
}

// recreating is the error of an update that was refused and whose object was therefore
// deleted. The next run creates it.
type recreating struct{ err error }

// Error implements error.
func (r *recreating) Error() string {
	return r.err.Error() + "; it was deleted and will be created again"
}

// Unwrap returns why the object could not be updated.
func (r *recreating) Unwrap() error { return r.err }

var (
	errBeingDeleted = errors.New("it is being deleted; it will be created again when it is gone")
	errHibernated   = errors.New("the shoot is hibernated; its objects are applied once it wakes up")
	errEdited       = errors.New("another client edited it while it was applied")
)

// isAboutShoot reports whether an error is about a shoot rather than the seed.
func isAboutShoot(err error) bool {
	return errors.As(err, new(*shootclient.UnreachableError)) || errors.Is(err, errHibernated) || isAboutAccess(err)
}

// isAboutAccess reports whether only another kubeconfig, or more rights for it, can
// overcome an error. A change of the Secret triggers a reconciliation.
func isAboutAccess(err error) bool {
	return errors.As(err, new(*shootclient.NoAccessError)) || errors.As(err, new(*shootclient.RefusedError))
}
