// SPDX-License-Identifier: Apache-2.0

package shootclient

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// NoAccessError means that there is no usable kubeconfig for a shoot. It is
// worth a retry only when the Secret changes.
type NoAccessError struct {
	// Namespace of the shoot's control plane, and Secret the name of the Secret there.
	Namespace, Secret string
	// Err says what is wrong with the Secret.
	Err error
}

// Error implements error.
func (e *NoAccessError) Error() string {
	return fmt.Sprintf("there is no access to the shoot: Secret %s/%s: %v", e.Namespace, e.Secret, e.Err)
}

// Unwrap returns what is wrong with the Secret.
func (e *NoAccessError) Unwrap() error { return e.Err }

// UnreachableError means that a shoot's API server does not answer, or more than is kept.
type UnreachableError struct {
	// Server is its address.
	Server string
	// Err is what happened to the last attempt.
	Err error
}

// Error implements error.
func (e *UnreachableError) Error() string {
	if errors.Is(e.Err, errTooLarge) {
		return fmt.Sprintf("the shoot with the API server %s %v", e.Server, e.Err)
	}
	return fmt.Sprintf("the shoot's API server %s cannot be reached: %s", e.Server, steady(e.Err))
}

// steady describes an error of a connection in the same words each time it occurs: a time limit
// may pass in several places.
func steady(err error) string {
	if isLate(err) {
		return errLate.Error()
	}
	return err.Error()
}

// Unwrap returns what happened to the last attempt.
func (e *UnreachableError) Unwrap() error { return e.Err }

// RefusedError means that a shoot's API server answers, but does not accept the
// kubeconfig's credentials, or not for what is needed. It is worth a retry only
// when the Secret changes, or once in a while: rights can be granted.
type RefusedError struct {
	// Server is the API server's address.
	Server string
	// Secret is where a better kubeconfig belongs, as namespace/name.
	Secret string
	// Denied is what the credentials may not do, as in "list ClusterRole objects". It
	// is empty where the answer alone tells, and where they are good for nothing.
	Denied string
	// Err is the API server's answer.
	Err error
}

// Error implements error.
func (e *RefusedError) Error() string {
	if !apierrors.IsForbidden(e.Err) {
		return fmt.Sprintf("the shoot's API server %s refuses the credentials in the Secret %s: they are invalid or expired; replace the kubeconfig",
			e.Server, e.Secret)
	}
	return fmt.Sprintf("the credentials in the Secret %s may not %s in the shoot: %v; grant them the rights of cluster-admin, or put another kubeconfig there",
		e.Secret, cmp.Or(e.Denied, "do all that is needed"), e.Err)
}

// Unwrap returns the API server's answer.
func (e *RefusedError) Unwrap() error { return e.Err }

// lacksRights matches what an API server answers to a client without the rights for a
// write. Admission refuses with the same code, and nothing but the words tells
// them apart.
var lacksRights = regexp.MustCompile(`(?i)is forbidden: user ".*" (cannot |\(groups=.*\) is attempting to grant )`)

// errUnauthorized stands for the answer to a request whose sender the API server
// does not know.
var errUnauthorized = errors.New("the credentials are not valid")

// errClosed is what is returned once the operator is about to end.
var errClosed = errors.New("the clients for shoots are closed")
