// SPDX-License-Identifier: Apache-2.0

package calico

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/plugins/calico/v1alpha1"
)

const (
	// bundleName is the name of the ManagedResource, as Gardener's extension has it.
	bundleName = "extension-networking-calico-config"
	// namespace is the namespace of all objects that have one.
	namespace = metav1.NamespaceSystem
	// kubeControllersName is the name of Calico's controllers.
	kubeControllersName = "calico-kube-controllers"
)

// network is one network to render: what is in force, and what is known of its cluster.
type network struct {
	config *v1alpha1.NetworkConfig
	in     *plugin.Input
}

// Render returns the objects of a network. They are in manifests/, as far as they are the same
// in every network; a component that depends on the config or the cluster has a Go file as
// well.
func (definition) Render(effective *v1alpha1.NetworkConfig, in *plugin.Input) (plugin.Objects, error) {
	n := &network{effective, in}
	config := n.cniConfig() // cni.go
	return plugin.NewObjects(n.components(),
		plugin.NetworkBundle(bundleName, slices.Concat(
			n.nodeAccess(), // node.go
			crds(),
			[]plugin.Object{config},
			pools{n}.objects(), // ippools.go
			n.node(config),     // node.go, node_env.go
			n.typha(),          // typha.go
			typhaPolicy(),
			n.autoscalers(), // autoscalers.go
			n.kubeControllers(),
			n.podAutoscalers(), // autoscalers.go
			n.multus(),         // multus.go
			n.monitoring(),     // monitoring.go
		)),
		plugin.SeedBundle(bundleName+"-seed", seedMonitoring(in.Namespace)), // monitoring.go
	), nil
}

func (n *network) components() []plugin.Component {
	list := []plugin.Component{{Name: "calicoNodes", Kind: "DaemonSet", Workload: nodeName, Namespace: namespace}}
	if hasKubeControllers(n.config) {
		list = append(list, plugin.Component{Name: "kubeControllers", Kind: "Deployment", Workload: kubeControllersName, Namespace: namespace})
	}
	if n.config.Typha.Enabled {
		list = append(list, plugin.Component{Name: "typha", Kind: "Deployment", Workload: typhaDeployment, Namespace: namespace})
	}
	if n.config.Multus.Enabled {
		list = append(list, plugin.Component{Name: "multus", Kind: "DaemonSet", Workload: multusName, Namespace: namespace})
	}
	return list
}

func (n *network) kubeControllers() []plugin.Object {
	if !hasKubeControllers(n.config) {
		return nil
	}
	return kubeControllersObjects(n.in)
}
