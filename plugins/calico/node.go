// SPDX-License-Identifier: Apache-2.0

package calico

import (
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/plugin/manifest"
	"github.com/trellis-network/trellis/plugin/system"
	"github.com/trellis-network/trellis/plugins/calico/v1alpha1"
)

const (
	// nodeName is the name of the DaemonSet, of its main container, and of its ServiceAccount
	// and role.
	nodeName = "calico-node"
	nodeUser = 999

	// Names of what runs beside calico-node.
	snatName             = "add-snat-rule-to-upstream-dns"
	conditionEnsurerName = "network-unavailable-condition-ensurer"
	birdExporterName     = "bird-exporter"
)

// configChecksum has the name that it has in Gardener, not the ConfigMap's.
var configChecksum = system.ChecksumAnnotation("calico")

// nodeAccess are the identities and rights of what runs on every node.
func (n *network) nodeAccess() []plugin.Object {
	subjects := []rbacv1.Subject{system.Account(nodeName)}
	if n.config.Typha.Enabled {
		// Typha watches the API server for the nodes, with their role.
		subjects = append(subjects, system.Account(typhaName))
	}
	return slices.Concat(nodeRole(), []plugin.Object{system.ClusterRoleBinding(nodeName, subjects...)}, cniAccess())
}

// node returns the DaemonSet, which restarts when its ConfigMap changes.
func (n *network) node(config *corev1.ConfigMap) []plugin.Object {
	objects := nodeObjects(n.in)
	daemonSet := manifest.Workload[*appsv1.DaemonSet](objects)
	n.letAutoscalersWrite(&daemonSet.ObjectMeta)
	daemonSet.Spec.Template.Annotations = map[string]string{configChecksum: system.Checksum(config)}
	pod := &daemonSet.Spec.Template.Spec
	manifest.Keep(pod, n.nodeParts())
	env := nodeEnv{n}.variables()
	for i := range pod.InitContainers {
		n.completeInit(&pod.InitContainers[i])
	}
	for i := range pod.Containers {
		switch container := &pod.Containers[i]; container.Name {
		case nodeName:
			n.completeNode(container, env)
		case snatName:
			n.completeSNAT(container)
		case conditionEnsurerName:
			n.completeConditionEnsurer(container, env)
		case birdExporterName:
			if hasIPv6(n.config) {
				container.Args = slices.DeleteFunc(container.Args, func(arg string) bool { return arg == "-bird.ipv6=false" })
			}
		}
	}
	return objects
}

// nodeParts reports which of the containers and volumes that not every network has are there.
func (n *network) nodeParts() map[string]bool {
	privileged, ebpf := n.isPrivileged(), n.config.EBPFDataplane.Enabled
	return map[string]bool{
		"cleanup-routes":     overlayOff(n.config),
		"ebpf-bootstrap":     ebpf,
		"hostpath-init":      !privileged,
		snatName:             n.config.SnatToUpstreamDNS.Enabled,
		conditionEnsurerName: ensuresCondition(n.config, n.in),
		birdExporterName:     n.config.BirdExporter.Enabled && privileged,

		"var-run-calico": privileged, "var-lib-calico": privileged,
		"var-run": !privileged, "var-lib": !privileged, "var-log": !privileged,
		"sys-fs": ebpf, "bpffs": ebpf, "nodeproc": ebpf,
	}
}

func (n *network) isPrivileged() bool { return isPrivileged(n.config, n.in) }

// completeInit adds the scripts. cleanup-routes removes the routes of a former overlay, and
// with backend none all that BIRD made. Where BIRD is the backend, the others are those that
// pods use now.
func (n *network) completeInit(container *corev1.Container) {
	switch {
	case container.Name == "log-mtu-issues":
		container.Command = system.Shell(logMTUIssues)
	case container.Name == "cleanup-routes" && hasBackend(n.config, v1alpha1.Bird):
		container.Command = system.Shell(cleanupTunnelRoutes)
	case container.Name == "cleanup-routes":
		container.Command = system.Shell(cleanupRoutes)
	}
}

func (n *network) completeNode(container *corev1.Container, env system.Environment) {
	container.Env = env
	container.Resources.Requests = n.nodeRequests()
	if !hasBackend(n.config, v1alpha1.Bird) {
		for _, probe := range []*corev1.Probe{container.LivenessProbe, container.ReadinessProbe} {
			probe.Exec.Command = slices.DeleteFunc(probe.Exec.Command, func(part string) bool { return strings.HasPrefix(part, "-bird-") })
		}
	}
	if !n.isPrivileged() {
		container.SecurityContext = &corev1.SecurityContext{
			RunAsUser:                new(int64(nodeUser)),
			RunAsGroup:               new(int64(0)),
			Privileged:               new(false),
			AllowPrivilegeEscalation: new(true), // for the set-uid bits in the image, which give the user its capabilities
			Capabilities:             &corev1.Capabilities{Add: []corev1.Capability{"NET_RAW", "NET_ADMIN", "NET_BIND_SERVICE"}},
		}
	}
}

// nodeRequests returns the requests that calico-node starts with, in modes static and vpa
// those of the config.
func (n *network) nodeRequests() corev1.ResourceList {
	if resources := n.config.AutoScaling.Resources; resources != nil {
		return system.RequestsWith(resources.Node, nodeCPU, nodeMemory)
	}
	return system.Requests(nodeCPU, nodeMemory)
}

// completeSNAT adds the masqueraded range: in a network of both families that of IPv4, as in
// the address pool.
func (n *network) completeSNAT(container *corev1.Container) {
	container.Command = system.Shell(snatToUpstreamDNS)
	masqueraded := manifest.Variable(container, "POD_CIDR")
	masqueraded.Value = n.in.PodCIDR
	if hasIPv4(n.config) {
		masqueraded.Value = podRangeIPv4(n.in)
	}
	if !n.isPrivileged() {
		container.SecurityContext = &corev1.SecurityContext{
			Privileged:               new(false),
			AllowPrivilegeEscalation: new(false),
			Capabilities:             &corev1.Capabilities{Add: []corev1.Capability{"NET_ADMIN"}},
		}
	}
}

// completeConditionEnsurer lets the container detect the node's addresses as calico-node does,
// with the same variables.
func (n *network) completeConditionEnsurer(container *corev1.Container, node system.Environment) {
	env := node.Only("CALICO_NETWORKING_BACKEND", "IP", "IP_AUTODETECTION_METHOD", "IP6", "IP6_AUTODETECTION_METHOD")
	env.Set("NO_DEFAULT_POOLS", "true")
	env.FromField("NODENAME", "spec.nodeName")
	container.Command, container.Env = system.Shell(ensureCondition), env
	if !hasBackend(n.config, v1alpha1.None) {
		container.VolumeMounts = nil
	}
}
