// SPDX-License-Identifier: Apache-2.0

package network

import (
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
)

// mine admits Networks that this controller answers to.
func (r *Reconciler) mine() predicate.Predicate {
	return predicate.NewPredicateFuncs(func(object client.Object) bool {
		n, ok := object.(*extensionsv1alpha1.Network)
		return ok && r.isMine(n)
	})
}

// isMine says whether a Network is meant for a shoot and of a type that has a
// plugin. Standalone, there is nobody else to tell the user about a wrong type.
func (r *Reconciler) isMine(n *extensionsv1alpha1.Network) bool {
	if class := n.Spec.Class; class != nil && *class != extensionsv1alpha1.ExtensionClassShoot {
		return false
	}
	_, known := r.Pipeline.Plugin(n.Spec.Type)
	return known || r.Standalone
}

// triggered admits the events that Gardener's contract lets an extension act on
// (section 2.6).
func (r *Reconciler) triggered() predicate.Predicate {
	switch {
	case r.Trigger == TriggerGeneration && r.Standalone:
		return predicate.Or(predicate.GenerationChangedPredicate{}, asksForOperation())
	case r.Trigger == TriggerGeneration:
		return predicate.GenerationChangedPredicate{}
	}
	return predicate.Funcs{
		CreateFunc: func(e event.CreateEvent) bool {
			n, ok := e.Object.(*extensionsv1alpha1.Network)
			return ok && (operationOf(n) != "" || !n.DeletionTimestamp.IsZero() || !succeeded(n))
		},
		UpdateFunc: func(e event.UpdateEvent) bool {
			before, ok := e.ObjectOld.(*extensionsv1alpha1.Network)
			after, fine := e.ObjectNew.(*extensionsv1alpha1.Network)
			if !ok || !fine {
				return false
			}
			if !after.DeletionTimestamp.IsZero() && before.DeletionTimestamp.IsZero() {
				return true // whatever else has changed meanwhile
			}
			return operationOf(after) != "" ||
				!after.DeletionTimestamp.IsZero() && apiequality.Semantic.DeepEqual(before.Status, after.Status)
		},
		DeleteFunc:  func(event.DeleteEvent) bool { return false },
		GenericFunc: func(event.GenericEvent) bool { return false },
	}
}

// asksForOperation admits Networks with an operation annotation. Standalone, it is how
// a user asks for another look.
func asksForOperation() predicate.Predicate {
	return predicate.NewPredicateFuncs(func(object client.Object) bool {
		n, ok := object.(*extensionsv1alpha1.Network)
		return ok && operationOf(n) != ""
	})
}

// isDeleted admits the ends of objects.
func isDeleted() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc:  func(event.CreateEvent) bool { return false },
		UpdateFunc:  func(event.UpdateEvent) bool { return false },
		GenericFunc: func(event.GenericEvent) bool { return false },
	}
}

// operationOf returns the operation that is asked for, or nothing if it is none
// that concerns a Network.
func operationOf(n *extensionsv1alpha1.Network) string {
	switch operation := n.Annotations[extensionsv1alpha1.OperationAnnotation]; operation {
	case extensionsv1alpha1.OperationReconcile, extensionsv1alpha1.OperationMigrate, extensionsv1alpha1.OperationRestore:
		return operation
	}
	return ""
}

func succeeded(n *extensionsv1alpha1.Network) bool {
	return n.Status.LastOperation != nil && n.Status.LastOperation.State == corev1beta1.LastOperationStateSucceeded
}

// migrated says whether a Network's control plane has left this seed.
func migrated(n *extensionsv1alpha1.Network) bool {
	return succeeded(n) && n.Status.LastOperation.Type == corev1beta1.LastOperationTypeMigrate
}

// operationType is the type of the operation that is due (section 2.3). One that
// has not succeeded is gone on with.
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
