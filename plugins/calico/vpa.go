// SPDX-License-Identifier: Apache-2.0

package calico

import (
	vpav1 "k8s.io/autoscaler/vertical-pod-autoscaler/pkg/apis/autoscaling.k8s.io/v1"

	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/plugin/system"
	"github.com/trellis-network/trellis/plugins/calico/v1alpha1"
)

// podAutoscalers returns objects for the Shoot's vertical pod autoscaler; none if the Shoot has
// no such autoscaler, which brings their CRD. It scales kube-controllers in every mode.
func (n *network) podAutoscalers() []plugin.Object {
	if !n.in.VPA {
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
		objects = append(objects, system.PodAutoscaler(kubeControllersName, "Deployment", kubeControllersName,
			system.Scaled(vpav1.DefaultContainerResourcePolicy, nil)))
	}
	return objects
}

// nodePodAutoscaler scales container calico-node only. The other containers of the pod need
// few resources in clusters of any size.
func (n *network) nodePodAutoscaler() plugin.Object {
	return system.PodAutoscaler(nodeName, "DaemonSet", nodeName,
		system.Scaled(nodeName, n.leastResources().Node),
		system.Unscaled(snatName), system.Unscaled(conditionEnsurerName), system.Unscaled(birdExporterName))
}

func (n *network) typhaPodAutoscaler() plugin.Object {
	return system.PodAutoscaler(typhaName, "Deployment", typhaDeployment,
		system.Scaled(vpav1.DefaultContainerResourcePolicy, n.leastResources().Typha))
}

// leastResources returns the user's minimum of the containers' requests.
func (n *network) leastResources() v1alpha1.StaticResources {
	if resources := n.config.AutoScaling.Resources; resources != nil {
		return *resources
	}
	return v1alpha1.StaticResources{}
}
