// SPDX-License-Identifier: Apache-2.0

package shoot

import (
	"cmp"
	"context"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	resourcesv1alpha1 "github.com/trellis-network/trellis/api/resources/v1alpha1"
	"github.com/trellis-network/trellis/internal/condition"
	"github.com/trellis-network/trellis/internal/controller/managedresource"
)

// applyFailure returns why the resource manager cannot apply a ManagedResource of the
// control plane in the shoot, to be appended to a description; empty if it can, or if the
// ManagedResources cannot be read.
func (s seed) applyFailure(ctx context.Context, namespace string) string {
	list := &resourcesv1alpha1.ManagedResourceList{}
	if err := s.List(ctx, list, client.InNamespace(namespace)); err != nil {
		return ""
	}
	slices.SortFunc(list.Items, func(a, b resourcesv1alpha1.ManagedResource) int { return cmp.Compare(a.Name, b.Name) })
	for i := range list.Items {
		mr := &list.Items[i]
		if applied := appliedCondition(mr); isForShoot(mr) && applied.Status == corev1beta1.ConditionFalse && applied.Message != "" {
			return ": the ManagedResource " + mr.Name + ": " + applied.Message
		}
	}
	return ""
}

// appliedMessage returns what the resource manager reports of a ManagedResource, to be
// appended to a description. A failure may be about an older generation: the resource
// manager does not mark as observed what it cannot apply.
func appliedMessage(mr *resourcesv1alpha1.ManagedResource) string {
	applied := appliedCondition(mr)
	current := mr.Status.ObservedGeneration == mr.Generation
	if applied.Message == "" || !current && applied.Status != corev1beta1.ConditionFalse {
		return ""
	}
	return ": " + applied.Message
}

func appliedCondition(mr *resourcesv1alpha1.ManagedResource) corev1beta1.Condition {
	return condition.Value(mr.Status.Conditions, resourcesv1alpha1.ResourcesApplied)
}

// isForShoot reports whether the objects of a ManagedResource are in the shoot.
func isForShoot(mr *resourcesv1alpha1.ManagedResource) bool {
	return managedresource.ClassOf(mr) == ""
}
