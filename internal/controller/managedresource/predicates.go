// SPDX-License-Identifier: Apache-2.0

package managedresource

import (
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	resourcesv1alpha1 "github.com/trellis-network/trellis/api/resources/v1alpha1"
	"github.com/trellis-network/trellis/internal/condition"
)

// AppliedChanged admits the ManagedResources whose condition ResourcesApplied changed, for
// controllers that report it. The resource manager is the first to learn whether a shoot
// can be reached. Deletions are admitted if the caller reports them.
func AppliedChanged(deletions bool) predicate.Predicate {
	applied := func(object client.Object) corev1beta1.Condition {
		mr, ok := object.(*resourcesv1alpha1.ManagedResource)
		if !ok {
			return corev1beta1.Condition{}
		}
		return condition.Value(mr.Status.Conditions, resourcesv1alpha1.ResourcesApplied)
	}
	return predicate.Funcs{
		CreateFunc:  func(event.CreateEvent) bool { return false },
		DeleteFunc:  func(event.DeleteEvent) bool { return deletions },
		GenericFunc: func(event.GenericEvent) bool { return false },
		UpdateFunc: func(e event.UpdateEvent) bool {
			before, after := applied(e.ObjectOld), applied(e.ObjectNew)
			return before.Status != after.Status || before.Reason != after.Reason || before.Message != after.Message
		},
	}
}
