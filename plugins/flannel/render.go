// SPDX-License-Identifier: Apache-2.0

package flannel

import (
	"embed"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/plugin/manifest"
	"github.com/trellis-network/trellis/plugin/system"
	"github.com/trellis-network/trellis/plugins/flannel/v1alpha1"
)

// bundleName is the name of the ManagedResource.
const bundleName = "extension-networking-flannel-config"

//go:embed manifests
var manifests embed.FS

var (
	// access is what the daemon may do.
	access = manifest.Constants(manifests, "manifests/access.yaml")
	// nodeObjects is the daemon.
	nodeObjects = manifest.Component(manifests, "manifests/node.yaml", images)
)

// network is one network to render: what is in force, and what is known of its cluster.
type network struct {
	config *v1alpha1.NetworkConfig
	in     *plugin.Input
}

// Render returns the objects of a network.
func (definition) Render(effective *v1alpha1.NetworkConfig, in *plugin.Input) (plugin.Objects, error) {
	n := &network{effective, in}
	settings, err := n.settings() // settings.go
	if err != nil {
		return plugin.Objects{}, err
	}
	components := []plugin.Component{{Name: "nodes", Kind: "DaemonSet", Workload: "kube-flannel-ds", Namespace: metav1.NamespaceSystem}}
	return plugin.NewObjects(components, plugin.NetworkBundle(bundleName, slices.Concat(
		access(), []plugin.Object{settings}, n.node(settings),
	))), nil
}

// node returns the DaemonSet, whose pods restart when the settings change.
func (n *network) node(settings *corev1.ConfigMap) []plugin.Object {
	objects := nodeObjects(n.in)
	template := &manifest.Workload[*appsv1.DaemonSet](objects).Spec.Template
	template.Annotations = map[string]string{system.ChecksumAnnotation(configName): system.Checksum(settings)}
	resources := n.config.Resources
	manifest.Container(&template.Spec, "kube-flannel").Resources = corev1.ResourceRequirements{
		Requests: resources.Requests.DeepCopy(), Limits: resources.Limits.DeepCopy(),
	}
	return objects
}
