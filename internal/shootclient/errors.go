// SPDX-License-Identifier: Apache-2.0

package shootclient

import (
	"errors"
	"fmt"
)

// NoAccessError says that there is no usable kubeconfig for a shoot. It is
// worth a retry only when the Secret changes.
type NoAccessError struct {
	// Namespace of the shoot's control plane.
	Namespace string
	// Err says what is wrong with the Secret.
	Err error
}

// Error implements error.
func (e *NoAccessError) Error() string {
	return fmt.Sprintf("there is no access to the shoot: Secret %s/%s: %v", e.Namespace, SecretName, e.Err)
}

// Unwrap returns what is wrong with the Secret.
func (e *NoAccessError) Unwrap() error { return e.Err }

// UnreachableError says that a shoot's API server does not answer.
type UnreachableError struct {
	// Server is its address.
	Server string
	// Err is what happened to the last attempt.
	Err error
}

// Error implements error.
func (e *UnreachableError) Error() string {
	return fmt.Sprintf("the shoot's API server %s cannot be reached: %v", e.Server, e.Err)
}

// Unwrap returns what happened to the last attempt.
func (e *UnreachableError) Unwrap() error { return e.Err }

// errClosed is what is returned once the operator is about to end.
var errClosed = errors.New("the clients for shoots are closed")
