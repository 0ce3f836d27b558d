// SPDX-License-Identifier: Apache-2.0

package shoot

import (
	"cmp"
	"context"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	resourcesv1alpha1 "github.com/trellis-network/trellis/api/resources/v1alpha1"
	"github.com/trellis-network/trellis/internal/controller/managedresource"
)

// obstacle is what keeps the control plane's ManagedResources from getting on in
// the shoot, in the words of the resource manager, or nothing.
func (op *operation) obstacle(ctx context.Context) string {
	list := &resourcesv1alpha1.ManagedResourceList{}
	if err := op.client.List(ctx, list, client.InNamespace(op.namespace)); err != nil {
		return "" // it would only have been said besides
	}
	slices.SortFunc(list.Items, func(a, b resourcesv1alpha1.ManagedResource) int { return cmp.Compare(a.Name, b.Name) })
	for i := range list.Items {
		managed := &list.Items[i]
		if !isForShoot(managed) {
			continue
		}
		if applied := appliedCondition(managed); applied.Status == corev1beta1.ConditionFalse && applied.Message != "" {
			return ": the ManagedResource " + managed.Name + ": " + applied.Message
		}
	}
	return ""
}

// whyNotApplied is the resource manager's own word on a ManagedResource that is
// waited for: of a failure always, since what cannot be applied is not marked as
// observed, otherwise only where it is about the present generation.
func whyNotApplied(managed *resourcesv1alpha1.ManagedResource) string {
	if managed == nil {
		return ""
	}
	applied := appliedCondition(managed)
	current := managed.Status.ObservedGeneration == managed.Generation
	if applied.Message == "" || !current && applied.Status != corev1beta1.ConditionFalse {
		return ""
	}
	return ": " + applied.Message
}

// appliedCondition is empty where there is none.
func appliedCondition(managed *resourcesv1alpha1.ManagedResource) corev1beta1.Condition {
	for _, condition := range managed.Status.Conditions {
		if condition.Type == resourcesv1alpha1.ResourcesApplied {
			return condition
		}
	}
	return corev1beta1.Condition{}
}

// isForShoot says whether the objects of a ManagedResource are in the shoot.
func isForShoot(managed *resourcesv1alpha1.ManagedResource) bool {
	return managedresource.ClassOf(managed) == ""
}

// tellingOrGone passes the events of ManagedResources that a Shoot's status can
// tell of, and their end, since deletions wait for it.
func tellingOrGone() predicate.Predicate {
	prerequisites := predicate.NewPredicateFuncs(func(o client.Object) bool { return o.GetName() == PrerequisitesName })
	others := predicate.Funcs{
		CreateFunc:  func(event.CreateEvent) bool { return false },
		GenericFunc: func(event.GenericEvent) bool { return false },
		UpdateFunc: func(e event.UpdateEvent) bool {
			before, was := e.ObjectOld.(*resourcesv1alpha1.ManagedResource)
			after, is := e.ObjectNew.(*resourcesv1alpha1.ManagedResource)
			if !was || !is {
				return false
			}
			old, now := appliedCondition(before), appliedCondition(after)
			return old.Status != now.Status || old.Message != now.Message
		},
	}
	return predicate.Or(prerequisites, others)
}
