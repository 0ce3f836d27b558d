// SPDX-License-Identifier: Apache-2.0

package network

import (
	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
)

// operationType returns the type of the operation that is due (N35). An operation that
// has not succeeded continues.
func operationType(n *extensionsv1alpha1.Network) corev1beta1.LastOperationType {
	switch operation := n.RequestedOperation(); {
	case operation == extensionsv1alpha1.OperationMigrate:
		return corev1beta1.LastOperationTypeMigrate
	case !n.DeletionTimestamp.IsZero():
		return corev1beta1.LastOperationTypeDelete
	case operation == extensionsv1alpha1.OperationRestore:
		return corev1beta1.LastOperationTypeRestore
	case n.Status.LastOperation == nil:
		return corev1beta1.LastOperationTypeCreate
	case n.HasSucceeded() || n.Status.LastOperation.Type == corev1beta1.LastOperationTypeDelete:
		return corev1beta1.LastOperationTypeReconcile
	default:
		return n.Status.LastOperation.Type
	}
}

// hasMigrated reports whether the control plane has moved to another seed, which looks
// after the shoot by now. Not even the deletion of the Network may reach the shoot then.
func hasMigrated(n *extensionsv1alpha1.Network) bool {
	if !n.HasSucceeded() || n.Status.LastOperation.Type != corev1beta1.LastOperationTypeMigrate {
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
	return requested{n.Generation, n.RequestedOperation(), n.Annotations[extensionsv1alpha1.TimestampAnnotation]}
}

// isOvertaken reports that the Network asks for something else by now.
func (r *run) isOvertaken() bool { return requestOf(r.Network) != r.request }

// asksForOperation reports whether a Network asks for an operation that has not begun.
// The annotation of a restoration stays until that has succeeded.
func asksForOperation(n *extensionsv1alpha1.Network) bool {
	switch n.RequestedOperation() {
	case extensionsv1alpha1.OperationReconcile:
		return true
	case extensionsv1alpha1.OperationRestore:
		last := n.Status.LastOperation
		return last == nil || last.Type != corev1beta1.LastOperationTypeRestore || n.HasSucceeded()
	}
	return false
}
