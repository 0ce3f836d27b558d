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

// isTerminal says whether only a change of the content, or of what the API
// server allows, can make the next attempt succeed. Such an error is not retried
// with backoff, but at the sync period.
func isTerminal(err error) bool {
	if apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
		return false
	}
	var notYet *recreating
	if errors.As(err, &notYet) {
		return false
	}
	return apierrors.IsInvalid(err) || apierrors.IsForbidden(err) || apierrors.IsBadRequest(err)
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
	return errors.As(err, &unreachable) || accessCode(err) != ""
}

// accessCode returns the code of an error that only another kubeconfig, or more
// rights for it, can cure, or nothing. It is of no use to retry soon after such an
// error; a changed Secret wakes us.
func accessCode(err error) corev1beta1.ErrorCode {
	if errors.As(err, new(*shootclient.NoAccessError)) || errors.As(err, new(*shootclient.RefusedError)) {
		return corev1beta1.ErrorConfigurationProblem
	}
	return ""
}
