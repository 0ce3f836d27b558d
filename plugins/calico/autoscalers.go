// SPDX-License-Identifier: Apache-2.0

package calico

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	vpav1 "k8s.io/autoscaler/vertical-pod-autoscaler/pkg/apis/autoscaling.k8s.io/v1"

	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/plugin/system"
	"github.com/trellis-network/trellis/plugins/calico/v1alpha1"
)

// letAutoscalersWrite makes the resource manager keep the requests that autoscalers wrote.
func (n *network) letAutoscalersWrite(meta *metav1.ObjectMeta) {
	if n.config.AutoScaling.Mode == v1alpha1.Static {
		return
	}
	meta.Annotations = map[string]string{system.PreserveResources: "true"}
}

// autoscalers are the cluster-proportional autoscalers of Typha and calico-node. The
// horizontal one writes Typha's replicas, and the vertical ones write requests.
func (n *network) autoscalers() []plugin.Object {
	requestsGrow := n.config.AutoScaling.Mode == v1alpha1.ClusterProportional
	var objects []plugin.Object
	if n.config.Typha.Enabled {
		objects = append(objects, typhaHorizontalObjects(n.in)...)
	}
	if n.config.Typha.Enabled && requestsGrow {
		objects = append(objects, typhaVerticalObjects(n.in)...)
	}
	if requestsGrow {
		objects = append(objects, nodeVerticalObjects(n.in)...)
	}
	return objects
}

// podAutoscalers are the objects for the Shoot's vertical pod autoscaler. There are none if
// the Shoot has no vertical pod autoscaler, which brings their CRD. It scales kube-controllers
// in every mode. Of calico-node's pod it scales one container only: the others need few
// resources in clusters of any size.
func (n *network) podAutoscalers() []plugin.Object {
	if !n.in.VPA {
		return nil
	}
	var objects []plugin.Object
	if n.config.AutoScaling.Mode == v1alpha1.VPA {
		least := n.leastResources()
		objects = append(objects, system.PodAutoscaler(nodeName, "DaemonSet", nodeName, system.Scaled(nodeName, least.Node),
			system.Unscaled(snatName), system.Unscaled(conditionEnsurerName), system.Unscaled(birdExporterName)))
		if n.config.Typha.Enabled {
			objects = append(objects, system.PodAutoscaler(typhaName, "Deployment", typhaDeployment,
				system.Scaled(vpav1.DefaultContainerResourcePolicy, least.Typha)))
		}
	}
	if hasKubeControllers(n.config) {
		objects = append(objects, system.PodAutoscaler(kubeControllersName, "Deployment", kubeControllersName,
			system.Scaled(vpav1.DefaultContainerResourcePolicy, nil)))
	}
	return objects
}

// leastResources returns the user's minimum of the containers' requests.
func (n *network) leastResources() v1alpha1.StaticResources {
	if resources := n.config.AutoScaling.Resources; resources != nil {
		return *resources
	}
	return v1alpha1.StaticResources{}
}
