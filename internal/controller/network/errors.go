// SPDX-License-Identifier: Apache-2.0

package network

import (
	"errors"
	"regexp"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	"github.com/trellis-network/trellis/internal/shootclient"
)

// codes finds the codes of errors.
type codes struct{ standalone bool }

// of returns the codes by which Gardener's clients know who can mend an error (N36):
// none where retrying may.
func (c codes) of(cause error) []corev1beta1.ErrorCode {
	switch {
	case cause == nil:
		return nil
	case apierrors.IsInvalid(cause), apierrors.IsRequestEntityTooLargeError(cause):
		return []corev1beta1.ErrorCode{corev1beta1.ErrorConfigurationProblem}
	case c.standalone && (errors.As(cause, new(*shootclient.NoAccessError)) || errors.As(cause, new(*shootclient.RefusedError))):
		// The kubeconfig is the user's. In a landscape it is Gardener's.
		return []corev1beta1.ErrorCode{corev1beta1.ErrorConfigurationProblem}
	}
	return nil
}

// refusedByAPIServer matches the message of Gardener's resource manager about an object
// that an API server never accepts. It states no codes, so Gardener's own clients read the
// message, too.
var refusedByAPIServer = regexp.MustCompile(`(?is)error during apply of object .* is invalid:`)

// in returns the codes in a failure to apply that retrying does not overcome, or none.
// Trellis' own resource manager states them.
func (c codes) in(applied corev1beta1.Condition) []corev1beta1.ErrorCode {
	switch {
	case len(applied.Codes) > 0 || c.standalone:
		return applied.Codes
	case applied.Reason == "DecodingFailed" || refusedByAPIServer.MatchString(applied.Message):
		return []corev1beta1.ErrorCode{corev1beta1.ErrorConfigurationProblem}
	}
	return nil
}

// lasting returns the codes of a failure that has lasted, although it may be about former
// content. The user must clean up what does not go from the shoot.
func (c codes) lasting(applied corev1beta1.Condition) []corev1beta1.ErrorCode {
	switch applied.Reason {
	case "DeletionFailed", "DeletionPending":
		return append(slices.Clone(applied.Codes), corev1beta1.ErrorCleanupClusterResources)
	}
	return c.in(applied)
}
