// SPDX-License-Identifier: Apache-2.0

package networkstatus

import (
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	resourcesv1alpha1 "github.com/trellis-network/trellis/api/resources/v1alpha1"
	"github.com/trellis-network/trellis/internal/condition"
	"github.com/trellis-network/trellis/internal/shootclient"
)

// givesAccess admits the Secrets with the kubeconfigs of shoots: a new one may make a
// shoot observable, or end that.
func givesAccess() predicate.Predicate {
	return predicate.NewPredicateFuncs(func(secret client.Object) bool {
		return shootclient.GivesAccess(secret.GetName())
	})
}

// appliedChanged admits ManagedResources whose condition ResourcesApplied changed. The
// resource manager is the first to learn that a shoot can or cannot be reached.
func appliedChanged() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc:  func(event.CreateEvent) bool { return false },
		DeleteFunc:  func(event.DeleteEvent) bool { return false },
		GenericFunc: func(event.GenericEvent) bool { return false },
		UpdateFunc: func(e event.UpdateEvent) bool {
			before, after := applied(e.ObjectOld), applied(e.ObjectNew)
			return before.Status != after.Status || before.Reason != after.Reason || before.Message != after.Message
		},
	}
}

func applied(object client.Object) corev1beta1.Condition {
	managed, ok := object.(*resourcesv1alpha1.ManagedResource)
	if !ok {
		return corev1beta1.Condition{}
	}
	return condition.Value(managed.Status.Conditions, resourcesv1alpha1.ResourcesApplied)
}
