// SPDX-License-Identifier: Apache-2.0

package flannel

import (
	"embed"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/plugin/manifest"
	"github.com/trellis-network/trellis/plugins/flannel/v1alpha1"
)

const (
	// bundleName is the name of the ManagedResource.
	bundleName = "extension-networking-flannel-config"
	// account is the name of the daemon's identity.
	account = "flannel"
)

//go:embed manifests
var manifests embed.FS

// access is what the daemon may do.
var access = manifest.Constants(manifests, "manifests/access.yaml")

// network is one network to render: what is in force, and what is known of its cluster.
type network struct {
	config *v1alpha1.NetworkConfig
	in     *plugin.Input
	// settings is the ConfigMap that flannel restarts for.
	settings *corev1.ConfigMap
}

// Render returns the objects of a network.
func (definition) Render(effective *v1alpha1.NetworkConfig, in *plugin.Input) (plugin.Objects, error) {
	n := &network{config: effective, in: in}
	var err error
	if n.settings, err = n.makeSettings(); err != nil {
		return plugin.Objects{}, err
	}
	components := []plugin.Component{{Name: "nodes", Kind: "DaemonSet", Workload: nodeName, Namespace: metav1.NamespaceSystem}}
	return plugin.NewObjects(components, plugin.NetworkBundle(bundleName, slices.Concat(
		access(),                                 // manifests/access.yaml
		[]plugin.Object{n.settings, n.nodeSet()}, // settings.go, node.go
	))), nil
}

// image returns the reference of an image of images.yaml.
func (n *network) image(name string) string { return images.For(name, n.in) }
