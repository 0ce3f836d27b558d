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

// codesOf are the codes by which Gardener's callers know what to make of an error
// (section 2.7): none where retrying may cure it.
func (w *work) codesOf(cause error) []corev1beta1.ErrorCode {
	switch {
	case apierrors.IsInvalid(cause), apierrors.IsRequestEntityTooLargeError(cause):
		return []corev1beta1.ErrorCode{corev1beta1.ErrorConfigurationProblem}
	case w.Standalone && (errors.As(cause, new(*shootclient.NoAccessError)) || errors.As(cause, new(*shootclient.RefusedError))):
		// The kubeconfig is the user's. In a landscape it is Gardener's.
		return []corev1beta1.ErrorCode{corev1beta1.ErrorConfigurationProblem}
	}
	return nil
}

// refused matches what Gardener's resource manager says of an object that an API
// server will never take. It states no codes, and its message is all that tells such an
// object apart: Gardener's own clients read it the same way.
var refused = regexp.MustCompile(`(?is)error during apply of object .* is invalid:`)

// incurable returns the codes of a failure to apply that retrying won't cure, or none.
// Trellis' own resource manager states them where it knows the error. What is not said
// of what was written last may be over.
func (w *work) incurable(applied corev1beta1.Condition) []corev1beta1.ErrorCode {
	if applied.Status != corev1beta1.ConditionFalse {
		return nil
	}
	return w.codesIn(applied)
}

func (w *work) codesIn(applied corev1beta1.Condition) []corev1beta1.ErrorCode {
	switch {
	case len(applied.Codes) > 0 || w.Standalone:
		return applied.Codes
	case applied.Reason == "DecodingFailed" || refused.MatchString(applied.Message):
		return []corev1beta1.ErrorCode{corev1beta1.ErrorConfigurationProblem}
	}
	return nil
}

// lasting returns the codes of a failure that has lasted, though it was perhaps said of
// what was written before. What does not go from the shoot is the user's to clean up.
func (w *work) lasting(applied corev1beta1.Condition) []corev1beta1.ErrorCode {
	switch applied.Reason {
	case "DeletionFailed", "DeletionPending":
		return append(slices.Clone(applied.Codes), corev1beta1.ErrorCleanupClusterResources)
	}
	return w.codesIn(applied)
}

// sortedSet returns codes as they are stated: sorted, each once.
func sortedSet(codes []corev1beta1.ErrorCode) []corev1beta1.ErrorCode {
	return slices.Compact(slices.Sorted(slices.Values(codes)))
}
