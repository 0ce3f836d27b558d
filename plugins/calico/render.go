// SPDX-License-Identifier: Apache-2.0

package calico

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/plugins/calico/v1alpha1"
)

const (
	// bundleName is the name of the ManagedResource, as Gardener's extension has it.
	bundleName = "extension-networking-calico-config"
	// namespace is the namespace of all objects that have one.
	namespace = metav1.NamespaceSystem
	// datastore is where Calico keeps its state.
	datastore = "kubernetes"
)

// network is one network to render: what is in force, and what is known of its cluster.
type network struct {
	config *v1alpha1.NetworkConfig
	in     *plugin.Input
	// calicoConfig is the ConfigMap that calico-node restarts for.
	calicoConfig *corev1.ConfigMap
}

// Render returns the objects of a network. Every component has a file of its own. Objects
// that are the same in every network are in manifests/.
func (definition) Render(effective *v1alpha1.NetworkConfig, in *plugin.Input) (plugin.Objects, error) {
	n := &network{config: effective, in: in}
	n.calicoConfig = n.cniConfig() // cni.go
	return plugin.NewObjects(n.components(),
		plugin.NetworkBundle(bundleName, slices.Concat(
			node{n}.access(), // node.go
			crds(),           // manifests/crds.yaml
			[]plugin.Object{n.calicoConfig},
			pools{n}.objects(),                   // ippools.go
			[]plugin.Object{node{n}.daemonSet()}, // node.go, node_env.go, node_init.go, node_sidecars.go, node_volumes.go
			typha{n}.objects(),                   // typha.go
			typhaPolicy(),                        // manifests/typha-policy.yaml
			autoscalers{n}.objects(),             // autoscalers.go
			kubeControllers{n}.objects(),         // kubecontrollers.go
			podAutoscalers{n}.objects(),          // vpa.go
			multus{n}.objects(),                  // multus.go
			monitoring(n.config),                 // monitoring.go
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

// image returns the reference of an image of images.yaml.
func (n *network) image(name string) string { return images.For(name, n.in) }
