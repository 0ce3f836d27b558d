// SPDX-License-Identifier: Apache-2.0

package unanswered

import (
	"fmt"

	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
)

// networkAsks describes what a Network asks for. One whose status says Processing has an operator
// that works on it. In a landscape an edited spec alone asks for nothing (Gardener contract, N18).
func networkAsks(n *extensionsv1alpha1.Network, standalone bool) string {
	last := ptr.Deref(n.Status.LastOperation, corev1beta1.LastOperation{})
	isForShoot := n.Spec.Class == nil || *n.Spec.Class == extensionsv1alpha1.ExtensionClassShoot
	operation := n.Annotations[extensionsv1alpha1.OperationAnnotation]
	asks := false
	switch {
	case !isForShoot, last.State == corev1beta1.LastOperationStateProcessing, operation == extensionsv1alpha1.OperationWaitForState:
	case operation == extensionsv1alpha1.OperationMigrate:
		asks = last.Type != corev1beta1.LastOperationTypeMigrate
	case !n.DeletionTimestamp.IsZero():
		asks = controllerutil.ContainsFinalizer(n, extensionsv1alpha1.NetworkFinalizer) &&
			last.Type != corev1beta1.LastOperationTypeDelete && last.Type != corev1beta1.LastOperationTypeMigrate
	case operation == extensionsv1alpha1.OperationRestore:
		asks = last.Type != corev1beta1.LastOperationTypeRestore
	default:
		asks = operation == extensionsv1alpha1.OperationReconcile || n.Status.LastOperation == nil ||
			standalone && n.Status.ObservedGeneration != n.Generation
	}
	if !asks {
		return ""
	}
	return description(n, operation, last)
}

// shootAsks describes what a Shoot asks for. An operator that answers observes its generation at once.
func shootAsks(s *corev1beta1.Shoot) string {
	last := ptr.Deref(s.Status.LastOperation, corev1beta1.LastOperation{})
	isDeleted := !s.DeletionTimestamp.IsZero() && last.Type != corev1beta1.LastOperationTypeDelete
	if s.Status.ObservedGeneration == s.Generation && !isDeleted {
		return ""
	}
	return description(s, "", last)
}

// description differs if an object asks for something else, or has been answered. A request that is
// only repeated is the same.
func description(object client.Object, operation string, last corev1beta1.LastOperation) string {
	return fmt.Sprintln(object.GetUID(), object.GetGeneration(), object.GetDeletionTimestamp().IsZero(), operation,
		last.Type, last.State, last.Description, last.LastUpdateTime.Unix())
}

// typeOf returns the type of networks that a Shoot states, empty if it has none.
func typeOf(s *corev1beta1.Shoot) string {
	return ptr.Deref(ptr.Deref(s.Spec.Networking, corev1beta1.Networking{}).Type, "")
}
