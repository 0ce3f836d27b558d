// SPDX-License-Identifier: Apache-2.0

package managedresource

import (
	"cmp"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trellis-network/trellis/internal/shootclient"
)

// typedKinds are the kinds that have a health in their status, and so must be cached whole.
var typedKinds = []shootclient.Watch{
	{Kind: appsv1.SchemeGroupVersion.WithKind("DaemonSet"), Typed: true},
	{Kind: appsv1.SchemeGroupVersion.WithKind("Deployment"), Typed: true},
	{Kind: batchv1.SchemeGroupVersion.WithKind("Job"), Typed: true},
	{Kind: apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition"), Typed: true},
}

// unhealthy returns what is wrong with an object, as the second half of a sentence, or
// nothing (R21). Of other kinds it is enough that they
// exist.
func unhealthy(object client.Object) string {
	switch o := object.(type) {
	case *appsv1.DaemonSet:
		return cmp.Or(unobserved(o.Generation, o.Status.ObservedGeneration), unhealthyDaemonSet(o))
	case *appsv1.Deployment:
		return cmp.Or(unobserved(o.Generation, o.Status.ObservedGeneration), unhealthyDeployment(o))
	case *apiextensionsv1.CustomResourceDefinition:
		return unhealthyCRD(o)
	case *batchv1.Job:
		for _, c := range o.Status.Conditions {
			if c.Type == batchv1.JobFailed && c.Status == corev1.ConditionTrue {
				return "has failed: " + c.Message
			}
		}
	}
	return ""
}

// progressing returns how an object is still being rolled out, as the second half
// of a sentence, or nothing (R23).
func progressing(object client.Object) string {
	switch o := object.(type) {
	case *appsv1.DaemonSet:
		if s := o.Status; s.UpdatedNumberScheduled < s.DesiredNumberScheduled {
			return cmp.Or(unobserved(o.Generation, s.ObservedGeneration),
				fmt.Sprintf("has %d of %d pods updated", s.UpdatedNumberScheduled, s.DesiredNumberScheduled))
		}
		return unobserved(o.Generation, o.Status.ObservedGeneration)
	case *appsv1.Deployment:
		return cmp.Or(unobserved(o.Generation, o.Status.ObservedGeneration), progressingDeployment(o))
	}
	return ""
}

func unhealthyDaemonSet(ds *appsv1.DaemonSet) string {
	s := ds.Status
	if s.CurrentNumberScheduled < s.DesiredNumberScheduled {
		return fmt.Sprintf("has pods on %d of %d nodes", s.CurrentNumberScheduled, s.DesiredNumberScheduled)
	}
	if s.NumberMisscheduled > 0 {
		return fmt.Sprintf("has pods on %d nodes where none should run", s.NumberMisscheduled)
	}
	allowed := 0
	if s.UpdatedNumberScheduled < s.DesiredNumberScheduled {
		allowed = maxUnavailable(ds)
	}
	if int(s.NumberUnavailable) > allowed {
		return fmt.Sprintf("has %d of %d pods unavailable (%d may be)", s.NumberUnavailable, s.DesiredNumberScheduled, allowed)
	}
	return ""
}

// maxUnavailable returns how many pods may be unavailable during a rolling update.
func maxUnavailable(ds *appsv1.DaemonSet) int {
	rolling := ds.Spec.UpdateStrategy.RollingUpdate
	if ds.Spec.UpdateStrategy.Type != appsv1.RollingUpdateDaemonSetStrategyType || rolling == nil || rolling.MaxUnavailable == nil {
		return 0
	}
	allowed, err := intstr.GetScaledValueFromIntOrPercent(rolling.MaxUnavailable, int(ds.Status.DesiredNumberScheduled), false)
	if err != nil {
		return 0
	}
	return allowed
}

func deploymentConditions(d *appsv1.Deployment) map[appsv1.DeploymentConditionType]appsv1.DeploymentCondition {
	byType := map[appsv1.DeploymentConditionType]appsv1.DeploymentCondition{}
	for _, c := range d.Status.Conditions {
		byType[c.Type] = c
	}
	return byType
}

func unhealthyDeployment(d *appsv1.Deployment) string {
	conditions := deploymentConditions(d)
	if conditions[appsv1.DeploymentAvailable].Status != corev1.ConditionTrue {
		return fmt.Sprintf("has %d of %d pods available", d.Status.AvailableReplicas, ptr.Deref(d.Spec.Replicas, 1))
	}
	if c, ok := conditions[appsv1.DeploymentProgressing]; ok && c.Status != corev1.ConditionTrue {
		return "makes no progress: " + c.Message
	}
	if c, ok := conditions[appsv1.DeploymentReplicaFailure]; ok && c.Status != corev1.ConditionFalse {
		return "cannot create pods: " + c.Message
	}
	return ""
}

func progressingDeployment(d *appsv1.Deployment) string {
	wanted := ptr.Deref(d.Spec.Replicas, 1)
	c := deploymentConditions(d)[appsv1.DeploymentProgressing]
	if c.Status != corev1.ConditionTrue || c.Reason != "NewReplicaSetAvailable" {
		return fmt.Sprintf("has %d of %d pods updated", d.Status.UpdatedReplicas, wanted)
	}
	if d.Status.Replicas != wanted {
		return fmt.Sprintf("has %d pods and wants %d", d.Status.Replicas, wanted)
	}
	return ""
}

func unhealthyCRD(crd *apiextensionsv1.CustomResourceDefinition) string {
	find := func(t apiextensionsv1.CustomResourceDefinitionConditionType) apiextensionsv1.CustomResourceDefinitionCondition {
		return ptr.Deref(apihelpers.FindCRDCondition(crd, t), apiextensionsv1.CustomResourceDefinitionCondition{})
	}
	if c := find(apiextensionsv1.NamesAccepted); c.Status != apiextensionsv1.ConditionTrue {
		return "does not have its names accepted: " + c.Message
	}
	if c := find(apiextensionsv1.Established); c.Status != apiextensionsv1.ConditionTrue {
		return "is not established: " + c.Message
	}
	if find(apiextensionsv1.Terminating).Status == apiextensionsv1.ConditionTrue {
		return "is being deleted"
	}
	return ""
}

func unobserved(generation, observed int64) string {
	if observed < generation {
		return fmt.Sprintf("has not been observed by its controller yet (generation %d, observed %d)", generation, observed)
	}
	return ""
}
