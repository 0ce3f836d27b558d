// SPDX-License-Identifier: Apache-2.0

package cilium

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/plugin/manifest"
	"github.com/trellis-network/trellis/plugin/system"
)

const (
	// agentName is the name of the DaemonSet, and the app label of its pods.
	agentName = "cilium"

	// Containers that not every network has.
	kubeProxyCleanUpName = "cilium-kube-proxy-clean-up"
	upstreamDNSName      = "add-snat-rule-to-upstream-dns"
	outsideWorldName     = "add-snat-rule-to-outside-world"
)

// Annotations that restart pods when a ConfigMap changes that they have read. Gardener uses
// the same names.
var (
	configChecksum      = system.ChecksumAnnotation("cilium")
	labelPrefixChecksum = system.ChecksumAnnotation("label-prefix")
)

// agentAccess is the identity and the rights of what runs on every node.
func (n *network) agentAccess() []plugin.Object {
	if n.config.L2Announcements.Enabled {
		return slices.Concat(agentIdentity(), announcingAgentRole())
	}
	return slices.Concat(agentIdentity(), agentRole())
}

// agent returns the DaemonSet, whose pods restart when the checksum of their configuration
// changes.
func (n *network) agent(checksum string) []plugin.Object {
	objects := agentObjects(n.in)
	template := &manifest.Workload[*appsv1.DaemonSet](objects).Spec.Template
	template.Annotations[configChecksum] = n.in.StartedWith(checksum)
	template.Annotations[labelPrefixChecksum] = labelPrefixSum()
	manifest.Keep(&template.Spec, map[string]bool{
		kubeProxyCleanUpName: replacesKubeProxy(n.in),
		upstreamDNSName:      n.config.SnatToUpstreamDNS.Enabled,
		outsideWorldName:     n.config.SnatOutOfCluster.Enabled,
	})
	n.probeLoopback(&template.Spec)
	for _, containers := range [][]corev1.Container{template.Spec.InitContainers, template.Spec.Containers} {
		for i := range containers {
			n.completeScript(&containers[i])
		}
	}
	return objects
}

// completeScript adds the script that a container runs, and the ranges that it needs.
func (n *network) completeScript(container *corev1.Container) {
	if script := scripts[container.Name]; script != "" {
		container.Command = system.Shell(script)
	}
	for i := range container.Env {
		switch variable := &container.Env[i]; variable.Name {
		case "POD_CIDR":
			variable.Value = n.in.PodCIDR
		case "NODE_CIDR":
			variable.Value = n.in.NodeCIDR
		}
	}
}

// envoy returns the proxy that policies about requests go through.
func (n *network) envoy() []plugin.Object {
	objects := envoyObjects(n.in)
	n.probeLoopback(&manifest.Workload[*appsv1.DaemonSet](objects).Spec.Template.Spec)
	return objects
}

// probeLoopback lets probes ask programs for their health on the node's own loopback.
func (n *network) probeLoopback(pod *corev1.PodSpec) {
	host := "127.0.0.1"
	if !hasIPv4(n.config) {
		host = "::1"
	}
	for _, container := range pod.Containers {
		for _, probe := range []*corev1.Probe{container.StartupProbe, container.LivenessProbe, container.ReadinessProbe} {
			if probe != nil {
				probe.HTTPGet.Host = host
			}
		}
	}
}
