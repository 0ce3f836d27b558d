// SPDX-License-Identifier: Apache-2.0

package managedresource

import (
	"errors"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	"github.com/trellis-network/trellis/internal/shootclient"
)

// failure is why a pass could not be completed, as the ResourcesApplied
// condition tells it.
type failure struct {
	reason string
	err    error
}

// Error implements error.
func (f *failure) Error() string { return f.err.Error() }

// Unwrap returns the cause.
func (f *failure) Unwrap() error { return f.err }

func fail(reason string, err error) error {
	if err == nil {
		return nil
	}
	return &failure{reason: reason, err: err}
}

// pending says that objects are being deleted and not yet gone.
type pending struct{ message string }

// Error implements error.
func (p *pending) Error() string { return p.message }

// codesOf are the codes of a failure that is not cured by trying again soon (section
// 2.7), but at the sync period at most: by another content or kubeconfig, or, as of a
// quota or an admission webhook, by a change in the shoot itself.
func (f *failure) codesOf() []corev1beta1.ErrorCode {
	switch {
	case isAboutAccess(f), f.reason == reasonDecodingFailed:
		return []corev1beta1.ErrorCode{corev1beta1.ErrorConfigurationProblem}
	case apierrors.HasStatusCause(f, corev1.NamespaceTerminatingCause), errors.As(error(f), new(*recreating)):
		return nil
	case f.reason == reasonDeletionFailed && (apierrors.IsInvalid(f) || apierrors.IsForbidden(f)):
		return []corev1beta1.ErrorCode{corev1beta1.ErrorCleanupClusterResources}
	case apierrors.IsInvalid(f), apierrors.IsBadRequest(f), apierrors.IsRequestEntityTooLargeError(f):
		return []corev1beta1.ErrorCode{corev1beta1.ErrorConfigurationProblem}
	case apierrors.IsForbidden(f):
		return []corev1beta1.ErrorCode{corev1beta1.ErrorRetryableConfigurationProblem}
	}
	return nil
}

// recreating says that an object was deleted because it could not be updated,
// and that the next attempt will create it.
type recreating struct{ err error }

// Error implements error.
func (r *recreating) Error() string {
	return r.err.Error() + "; it was deleted and will be created anew"
}

// Unwrap returns why it could not be updated.
func (r *recreating) Unwrap() error { return r.err }

// isAboutShoot says whether an error is about a shoot rather than the seed.
func isAboutShoot(err error) bool {
	var unreachable *shootclient.UnreachableError
	return errors.As(err, &unreachable) || isAboutAccess(err)
}

// isAboutAccess says whether only another kubeconfig, or more rights for it, can cure an
// error. It is of no use to retry soon after it; a changed Secret wakes us.
func isAboutAccess(err error) bool {
	return errors.As(err, new(*shootclient.NoAccessError)) || errors.As(err, new(*shootclient.RefusedError))
}
