// SPDX-License-Identifier: Apache-2.0

package cilium

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/plugin/manifest"
	"github.com/trellis-network/trellis/plugin/system"
)

const (
	// operatorApp is the value of Cilium's own label for what a pod does, io.cilium/app.
	operatorApp = "operator"
	// availabilityLabel with the value controller lets Gardener run two replicas, for
	// which there must always be two nodes.
	availabilityLabel = "high-availability-config.resources.gardener.cloud/type"
)

// operator returns cilium-operator, which restarts when the checksum of its configuration
// changes.
func (n *network) operator(checksum string) []plugin.Object {
	objects := operatorObjects(n.in)
	deployment := manifest.Workload[*appsv1.Deployment](objects)
	if isHighlyAvailable(n.in) {
		deployment.Labels[availabilityLabel] = "controller"
		if n.in.PodAccess != nil { // without Gardener, the label has no effect
			deployment.Spec.Replicas = new(int32(2))
		}
	}
	deployment.Spec.Template.Annotations[configChecksum] = n.in.StartedWith(checksum)
	pod := &deployment.Spec.Template.Spec
	n.probeLoopback(pod)
	container := manifest.Container(pod, "cilium-operator")
	container.Env = append(container.Env, n.apiServerEnv()...)
	return objects
}

// apiServerEnv leads to the API server: until agents run, and they need the operator, no
// Service leads anywhere.
func (n *network) apiServerEnv() []corev1.EnvVar {
	var env system.Environment
	host, port := operatorAPIServer(n.config, n.in)
	env.SetIf(host != "", "KUBERNETES_SERVICE_HOST", host)
	env.SetIf(port != "", "KUBERNETES_SERVICE_PORT", port)
	return env
}
