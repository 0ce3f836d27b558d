// SPDX-License-Identifier: Apache-2.0

package managedresource

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	vpav1 "k8s.io/autoscaler/vertical-pod-autoscaler/pkg/apis/autoscaling.k8s.io/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// unhealthy says what is wrong with an object, as the second half of a
// sentence, or nothing (section 3.10). Of kinds that it does not know it is
// enough that they exist.
func unhealthy(object client.Object) string {
	switch o := object.(type) {
	case *appsv1.DaemonSet:
		return unhealthyDaemonSet(o)
	case *appsv1.Deployment:
		return unhealthyDeployment(o)
	case *appsv1.StatefulSet:
		return firstOf(outdated(o.Generation, o.Status.ObservedGeneration), tooFew(o.Status.ReadyReplicas, o.Spec.Replicas))
	case *appsv1.ReplicaSet:
		return firstOf(outdated(o.Generation, o.Status.ObservedGeneration), tooFew(o.Status.ReadyReplicas, o.Spec.Replicas))
	case *corev1.ReplicationController:
		return firstOf(outdated(o.Generation, o.Status.ObservedGeneration), tooFew(o.Status.ReadyReplicas, o.Spec.Replicas))
	case *apiextensionsv1.CustomResourceDefinition:
		return unhealthyCRD(o)
	case *batchv1.Job:
		for _, c := range o.Status.Conditions {
			if c.Type == batchv1.JobFailed && c.Status == corev1.ConditionTrue {
				return "has failed: " + c.Message
			}
		}
	case *corev1.Pod:
		if o.Status.Phase != corev1.PodRunning && o.Status.Phase != corev1.PodSucceeded {
			return fmt.Sprintf("is in phase %s", o.Status.Phase)
		}
	case *vpav1.VerticalPodAutoscaler:
		for _, c := range o.Status.Conditions {
			if c.Type == vpav1.ConfigUnsupported && c.Status == corev1.ConditionTrue {
				return "is not supported as it is configured: " + c.Message
			}
		}
	case *corev1.Service:
		if o.Spec.Type == corev1.ServiceTypeLoadBalancer && len(o.Status.LoadBalancer.Ingress) == 0 {
			return "has no address from its load balancer yet"
		}
	}
	return ""
}

// progressing says how an object is still being rolled out, as the second half
// of a sentence, or nothing.
func progressing(object client.Object) string {
	switch o := object.(type) {
	case *appsv1.DaemonSet:
		return firstOf(outdated(o.Generation, o.Status.ObservedGeneration),
			updatedSoFar(o.Status.UpdatedNumberScheduled, o.Status.DesiredNumberScheduled))
	case *appsv1.StatefulSet:
		return firstOf(outdated(o.Generation, o.Status.ObservedGeneration),
			updatedSoFar(o.Status.UpdatedReplicas, wantedByStatefulSet(o)))
	case *appsv1.Deployment:
		return progressingDeployment(o)
	}
	return ""
}

func unhealthyDaemonSet(ds *appsv1.DaemonSet) string {
	s := ds.Status
	if problem := outdated(ds.Generation, s.ObservedGeneration); problem != "" {
		return problem
	}
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

// maxUnavailable is how many pods may be unavailable during a rolling update.
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

func unhealthyDeployment(d *appsv1.Deployment) string {
	if problem := outdated(d.Generation, d.Status.ObservedGeneration); problem != "" {
		return problem
	}
	available := deploymentCondition(d, appsv1.DeploymentAvailable)
	if available == nil || available.Status != corev1.ConditionTrue {
		return fmt.Sprintf("has %d of %d pods available", d.Status.AvailableReplicas, ptr.Deref(d.Spec.Replicas, 1))
	}
	if c := deploymentCondition(d, appsv1.DeploymentProgressing); c != nil && c.Status != corev1.ConditionTrue {
		return "makes no progress: " + c.Message
	}
	if c := deploymentCondition(d, appsv1.DeploymentReplicaFailure); c != nil && c.Status != corev1.ConditionFalse {
		return "cannot create pods: " + c.Message
	}
	return ""
}

func progressingDeployment(d *appsv1.Deployment) string {
	if problem := outdated(d.Generation, d.Status.ObservedGeneration); problem != "" {
		return problem
	}
	wanted := ptr.Deref(d.Spec.Replicas, 1)
	c := deploymentCondition(d, appsv1.DeploymentProgressing)
	if c == nil || c.Status != corev1.ConditionTrue || c.Reason != "NewReplicaSetAvailable" {
		return fmt.Sprintf("has %d of %d pods updated", d.Status.UpdatedReplicas, wanted)
	}
	if d.Status.Replicas != wanted {
		return fmt.Sprintf("has %d pods and wants %d", d.Status.Replicas, wanted)
	}
	return ""
}

func deploymentCondition(d *appsv1.Deployment, kind appsv1.DeploymentConditionType) *appsv1.DeploymentCondition {
	for i := range d.Status.Conditions {
		if d.Status.Conditions[i].Type == kind {
			return &d.Status.Conditions[i]
		}
	}
	return nil
}

func unhealthyCRD(crd *apiextensionsv1.CustomResourceDefinition) string {
	status := map[apiextensionsv1.CustomResourceDefinitionConditionType]apiextensionsv1.CustomResourceDefinitionCondition{}
	for _, c := range crd.Status.Conditions {
		status[c.Type] = c
	}
	if c := status[apiextensionsv1.NamesAccepted]; c.Status != apiextensionsv1.ConditionTrue {
		return "does not have its names accepted: " + c.Message
	}
	if c := status[apiextensionsv1.Established]; c.Status != apiextensionsv1.ConditionTrue {
		return "is not established: " + c.Message
	}
	if status[apiextensionsv1.Terminating].Status == apiextensionsv1.ConditionTrue {
		return "is being deleted"
	}
	return ""
}

// wantedByStatefulSet is how many pods a rolling update is to reach.
func wantedByStatefulSet(s *appsv1.StatefulSet) int32 {
	wanted := ptr.Deref(s.Spec.Replicas, 1)
	if rolling := s.Spec.UpdateStrategy.RollingUpdate; rolling != nil {
		wanted -= ptr.Deref(rolling.Partition, 0)
	}
	return wanted
}

func outdated(generation, observed int64) string {
	if observed < generation {
		return fmt.Sprintf("was not looked at by its controller yet (generation %d, observed %d)", generation, observed)
	}
	return ""
}

func tooFew(ready int32, wanted *int32) string {
	if w := ptr.Deref(wanted, 1); ready < w {
		return fmt.Sprintf("has %d of %d pods ready", ready, w)
	}
	return ""
}

func updatedSoFar(updated, wanted int32) string {
	if updated < wanted {
		return fmt.Sprintf("has %d of %d pods updated", updated, wanted)
	}
	return ""
}

func firstOf(problems ...string) string {
	for _, problem := range problems {
		if problem != "" {
			return problem
		}
	}
	return ""
}
