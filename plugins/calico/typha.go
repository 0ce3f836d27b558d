// SPDX-License-Identifier: Apache-2.0

package calico

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/plugin/manifest"
	"github.com/trellis-network/trellis/plugin/system"
	"github.com/trellis-network/trellis/plugins/calico/v1alpha1"
)

const (
	// typhaName is the name of Typha's Service, ServiceAccount and autoscaler.
	typhaName       = "calico-typha"
	typhaDeployment = "calico-typha-deploy"
)

// typha returns the objects of Typha, which watches the API server for calico-node.
func (n *network) typha() []plugin.Object {
	if !n.config.Typha.Enabled {
		return nil
	}
	objects := typhaObjects(n.in)
	deployment := manifest.Workload[*appsv1.Deployment](objects)
	n.letAutoscalersWrite(&deployment.ObjectMeta)
	container := manifest.Container(&deployment.Spec.Template.Spec, "calico-typha")
	container.Resources.Requests = n.typhaRequests()
	if usesHostLocal(n.config) {
		container.Env = slices.Insert(container.Env, 0, corev1.EnvVar{Name: "USE_POD_CIDR", Value: "true"})
	}
	return objects
}

// typhaRequests returns the requests that Typha starts with, in mode static those of the
// config. In mode vpa the config has the minimum only.
func (n *network) typhaRequests() corev1.ResourceList {
	if resources := n.config.AutoScaling.Resources; resources != nil && n.config.AutoScaling.Mode == v1alpha1.Static {
		return system.RequestsWith(resources.Typha, typhaCPU, typhaMemory)
	}
	return system.Requests(typhaCPU, typhaMemory)
}
