// SPDX-License-Identifier: Apache-2.0

package calico

import (
	vpav1 "k8s.io/autoscaler/vertical-pod-autoscaler/pkg/apis/autoscaling.k8s.io/v1"

	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/plugin/system"
	"github.com/trellis-network/trellis/plugins/calico/v1alpha1"
)

// podAutoscalers are the objects for the Shoot's vertical pod autoscaler.
type podAutoscalers struct{ *network }

// objects returns none if the Shoot has no vertical pod autoscaler, which brings their CRD. It
// scales kube-controllers in every mode.
func (p podAutoscalers) objects() []plugin.Object {
	if !p.in.VPA {
		return nil
	}
	var objects []plugin.Object
	if p.config.AutoScaling.Mode == v1alpha1.VPA {
		objects = append(objects, p.node())
		if p.config.Typha.Enabled {
			objects = append(objects, p.typha())
		}
	}
	if hasKubeControllers(p.config) {
		objects = append(objects, system.PodAutoscaler(kubeControllersName, "Deployment", kubeControllersName,
			system.Scaled(vpav1.DefaultContainerResourcePolicy, nil)))
	}
	return objects
}

// node scales container calico-node only. The other containers of the pod need
// few resources in clusters of any size.
func (p podAutoscalers) node() plugin.Object {
	return system.PodAutoscaler(nodeName, "DaemonSet", nodeName,
		system.Scaled(nodeName, p.leastResources().Node),
		system.Unscaled(snatName), system.Unscaled(conditionEnsurerName), system.Unscaled(birdExporterName))
}

func (p podAutoscalers) typha() plugin.Object {
	return system.PodAutoscaler(typhaName, "Deployment", typhaDeployment,
		system.Scaled(vpav1.DefaultContainerResourcePolicy, p.leastResources().Typha))
}

// leastResources returns the user's minimum of the containers' requests.
func (p podAutoscalers) leastResources() v1alpha1.StaticResources {
	if resources := p.config.AutoScaling.Resources; resources != nil {
		return *resources
	}
	return v1alpha1.StaticResources{}
}
