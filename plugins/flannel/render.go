// SPDX-License-Identifier: Apache-2.0

package flannel

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/plugins/flannel/v1alpha1"
)

// network is one network to render: what is in force, and what is known of its
// cluster.
// bundleName is the name of the ManagedResource.
const bundleName = "extension-networking-flannel-config"

type network struct {
	config *v1alpha1.NetworkConfig
	in     *plugin.Input
	// settings is the ConfigMap that flannel restarts for.
	settings *corev1.ConfigMap
}

// render returns the objects of a network.
func render(effective *v1alpha1.NetworkConfig, in *plugin.Input) (plugin.Objects, error) {
	n := &network{config: effective, in: in}
	var err error
	if n.settings, err = n.makeSettings(); err != nil {
		return plugin.Objects{}, err
	}
	components := []plugin.Component{{Name: "nodes", Kind: "DaemonSet", Workload: nodeName, Namespace: metav1.NamespaceSystem}}
	return plugin.NewObjects(components, plugin.NetworkBundle(bundleName, slices.Concat(
		access,                                   // rbac.go
		[]plugin.Object{n.settings, n.nodeSet()}, // settings.go, node.go
	))), nil
}

// image returns the reference of an image of images.yaml.
func (n *network) image(name string) string { return images.For(name, n.in) }
