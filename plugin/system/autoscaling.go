// SPDX-License-Identifier: Apache-2.0

package system

import (
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	vpav1 "k8s.io/autoscaler/vertical-pod-autoscaler/pkg/apis/autoscaling.k8s.io/v1"

	resourcesv1alpha1 "github.com/trellis-network/trellis/api/resources/v1alpha1"
)

// PodAutoscaler lets the shoot's vertical pod autoscaler scale a workload. The
// autoscaler brings the kind, so only shoots that have one can take the object.
func PodAutoscaler(name, targetKind, target string, policies ...vpav1.ContainerResourcePolicy) *vpav1.VerticalPodAutoscaler {
	meta := Named(name, nil)
	// A Shoot may ask for an autoscaler that its cluster does not have.
	meta.Annotations = map[string]string{resourcesv1alpha1.OptionalKind: "true"}
	return &vpav1.VerticalPodAutoscaler{
		TypeMeta:   TypeMeta(vpav1.SchemeGroupVersion.String(), "VerticalPodAutoscaler"),
		ObjectMeta: meta,
		Spec: vpav1.VerticalPodAutoscalerSpec{
			TargetRef:      &autoscalingv1.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: targetKind, Name: target},
			UpdatePolicy:   &vpav1.PodUpdatePolicy{UpdateMode: new(vpav1.UpdateModeInPlaceOrRecreate)},
			ResourcePolicy: &vpav1.PodResourcePolicy{ContainerPolicies: policies},
		},
	}
}

// Scaled lets a container's requests be scaled; its limits, if any, stay.
func Scaled(container string, least corev1.ResourceList) vpav1.ContainerResourcePolicy {
	return vpav1.ContainerResourcePolicy{
		ContainerName:    container,
		MinAllowed:       least.DeepCopy(),
		ControlledValues: new(vpav1.ContainerControlledValuesRequestsOnly),
	}
}

// Unscaled leaves a container's requests alone.
func Unscaled(container string) vpav1.ContainerResourcePolicy {
	return vpav1.ContainerResourcePolicy{ContainerName: container, Mode: new(vpav1.ContainerScalingModeOff)}
}
