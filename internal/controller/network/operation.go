// SPDX-License-Identifier: Apache-2.0

package network

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/internal/outcome"
)

// operationOf returns the operation that an annotation asks for, empty if it asks for
// none that concerns a Network.
func operationOf(n *extensionsv1alpha1.Network) string {
	switch operation := n.Annotations[extensionsv1alpha1.OperationAnnotation]; operation {
	case extensionsv1alpha1.OperationReconcile, extensionsv1alpha1.OperationMigrate, extensionsv1alpha1.OperationRestore:
		return operation
	}
	return ""
}

// operationType returns the type of the operation that is due (N35). An operation that
// has not succeeded continues.
func operationType(n *extensionsv1alpha1.Network) corev1beta1.LastOperationType {
	switch operation := operationOf(n); {
	case operation == extensionsv1alpha1.OperationMigrate:
		return corev1beta1.LastOperationTypeMigrate
	case !n.DeletionTimestamp.IsZero():
		return corev1beta1.LastOperationTypeDelete
	case operation == extensionsv1alpha1.OperationRestore:
		return corev1beta1.LastOperationTypeRestore
	case n.Status.LastOperation == nil:
		return corev1beta1.LastOperationTypeCreate
	case succeeded(n) || n.Status.LastOperation.Type == corev1beta1.LastOperationTypeDelete:
		return corev1beta1.LastOperationTypeReconcile
	default:
		return n.Status.LastOperation.Type
	}
}

func succeeded(n *extensionsv1alpha1.Network) bool {
	return n.Status.LastOperation != nil && n.Status.LastOperation.State == corev1beta1.LastOperationStateSucceeded
}

// hasMigrated reports whether the control plane has moved to another seed, which looks
// after the shoot by now. Not even the deletion of the Network may reach the shoot then.
func hasMigrated(n *extensionsv1alpha1.Network) bool {
	if !succeeded(n) || n.Status.LastOperation.Type != corev1beta1.LastOperationTypeMigrate {
		return false
	}
	due := operationType(n)
	return due != corev1beta1.LastOperationTypeMigrate && due != corev1beta1.LastOperationTypeRestore
}

// requested is what a Network asks for: a version of its spec, and an operation with the
// time at which it was asked for.
type requested struct {
	generation           int64
	operation, timestamp string
}

func requestOf(n *extensionsv1alpha1.Network) requested {
	return requested{n.Generation, operationOf(n), n.Annotations[extensionsv1alpha1.TimestampAnnotation]}
}

// asksForOperation reports whether a Network asks for an operation that has not begun.
// The annotation of a restoration stays until that has succeeded.
func asksForOperation(n *extensionsv1alpha1.Network) bool {
	switch operationOf(n) {
	case extensionsv1alpha1.OperationReconcile:
		return true
	case extensionsv1alpha1.OperationRestore:
		last := n.Status.LastOperation
		return last == nil || last.Type != corev1beta1.LastOperationTypeRestore || succeeded(n)
	}
	return false
}

// answer takes off the annotation of an operation, unless the Network asks for another one
// by now. A Network that is gone needs no answer.
func answer(ctx context.Context, c client.Client, n *extensionsv1alpha1.Network, operation string) error {
	if operationOf(n) != operation {
		return nil
	}
	const path = "/metadata/annotations/gardener.cloud~1operation"
	patch := fmt.Appendf(nil, `[{"op":"test","path":%q,"value":%q},{"op":"remove","path":%q}]`, path, operation, path)
	err := c.Patch(ctx, n, client.RawPatch(types.JSONPatchType, patch))
	if apierrors.IsInvalid(err) {
		return outcome.ErrOvertaken
	}
	return client.IgnoreNotFound(err)
}
