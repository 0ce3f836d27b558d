// SPDX-License-Identifier: Apache-2.0

package health

import (
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	resourcesv1alpha1 "github.com/trellis-network/trellis/api/resources/v1alpha1"
	"github.com/trellis-network/trellis/internal/shootclient"
)

// givesAccess admits the Secrets with which shoots are reached: a new one may put
// an end to what a Network's condition says, or begin it.
func givesAccess() predicate.Predicate {
	return predicate.NewPredicateFuncs(func(secret client.Object) bool {
		return shootclient.GivesAccess(secret.GetName())
	})
}

// appliedOtherwise admits ManagedResources that are applied, or fail, in another
// way than before. Whoever applies objects is the first to learn that a shoot
// cannot be used, and the first that it can be again.
func appliedOtherwise() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc:  func(event.CreateEvent) bool { return false },
		DeleteFunc:  func(event.DeleteEvent) bool { return false },
		GenericFunc: func(event.GenericEvent) bool { return false },
		UpdateFunc: func(e event.UpdateEvent) bool {
			before, after := appliedCondition(e.ObjectOld), appliedCondition(e.ObjectNew)
			return before.Status != after.Status || before.Reason != after.Reason || before.Message != after.Message
		},
	}
}

// appliedCondition returns the condition ResourcesApplied, or the zero one.
func appliedCondition(object client.Object) corev1beta1.Condition {
	mr, ok := object.(*resourcesv1alpha1.ManagedResource)
	if !ok {
		return corev1beta1.Condition{}
	}
	i := slices.IndexFunc(mr.Status.Conditions, func(c corev1beta1.Condition) bool { return c.Type == resourcesv1alpha1.ResourcesApplied })
	if i < 0 {
		return corev1beta1.Condition{}
	}
	return mr.Status.Conditions[i]
}
