// SPDX-License-Identifier: Apache-2.0

package calico

import (
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	vpav1 "k8s.io/autoscaler/vertical-pod-autoscaler/pkg/apis/autoscaling.k8s.io/v1"

	resourcesv1alpha1 "github.com/trellis-network/trellis/api/resources/v1alpha1"
	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/plugins/calico/v1alpha1"
)

// podAutoscalers are what the Shoot's vertical pod autoscaler is to scale. That
// brings the CRD of these objects, so there is none without it. kube-controllers
// is scaled in every mode.
func (n *network) podAutoscalers() []plugin.Object {
	if !n.facts.VPA {
		return nil
	}
	var objects []plugin.Object
	if n.config.AutoScaling.Mode == v1alpha1.VPA {
		objects = append(objects, n.nodePodAutoscaler())
		if n.config.Typha.Enabled {
			objects = append(objects, n.typhaPodAutoscaler())
		}
	}
	if hasKubeControllers(n.config) {
		objects = append(objects, podAutoscaler(kubeControllersName, "Deployment", kubeControllersName,
			scaled(vpav1.DefaultContainerResourcePolicy, nil)))
	}
	return objects
}

// nodePodAutoscaler scales calico-node itself. What runs beside it needs next to
// nothing, however large the cluster.
func (n *network) nodePodAutoscaler() plugin.Object {
	return podAutoscaler(nodeName, "DaemonSet", nodeName,
		scaled(nodeName, n.leastResources().Node),
		unscaled(snatName), unscaled(conditionEnsurerName), unscaled(birdExporterName))
}

func (n *network) typhaPodAutoscaler() plugin.Object {
	return podAutoscaler(typhaName, "Deployment", typhaDeployment,
		scaled(vpav1.DefaultContainerResourcePolicy, n.leastResources().Typha))
}

// leastResources are what the user wants containers to get at least.
func (n *network) leastResources() v1alpha1.StaticResources {
	if resources := n.config.AutoScaling.Resources; resources != nil {
		return *resources
	}
	return v1alpha1.StaticResources{}
}

func podAutoscaler(name, targetKind, target string, policies ...vpav1.ContainerResourcePolicy) *vpav1.VerticalPodAutoscaler {
	meta := named(name, nil)
	// A Shoot may ask for an autoscaler that nobody has brought.
	meta.Annotations = map[string]string{resourcesv1alpha1.OptionalKind: "true"}
	return &vpav1.VerticalPodAutoscaler{
		TypeMeta:   typeMeta(vpav1.SchemeGroupVersion.String(), "VerticalPodAutoscaler"),
		ObjectMeta: meta,
		Spec: vpav1.VerticalPodAutoscalerSpec{
			TargetRef:      &autoscalingv1.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: targetKind, Name: target},
			UpdatePolicy:   &vpav1.PodUpdatePolicy{UpdateMode: new(vpav1.UpdateModeInPlaceOrRecreate)},
			ResourcePolicy: &vpav1.PodResourcePolicy{ContainerPolicies: policies},
		},
	}
}

// scaled lets a container's requests be scaled; its limits, if any, stay.
func scaled(container string, least corev1.ResourceList) vpav1.ContainerResourcePolicy {
	return vpav1.ContainerResourcePolicy{
		ContainerName:    container,
		MinAllowed:       least.DeepCopy(),
		ControlledValues: new(vpav1.ContainerControlledValuesRequestsOnly),
	}
}

func unscaled(container string) vpav1.ContainerResourcePolicy {
	return vpav1.ContainerResourcePolicy{ContainerName: container, Mode: new(vpav1.ContainerScalingModeOff)}
}
