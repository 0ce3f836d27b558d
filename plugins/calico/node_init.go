// SPDX-License-Identifier: Apache-2.0

package calico

import (
	"strconv"

	corev1 "k8s.io/api/core/v1"

	"github.com/trellis-network/trellis/plugin/system"
	"github.com/trellis-network/trellis/plugins/calico/v1alpha1"
)

// initContainers prepare a node. Their order matters: the routes of a former overlay
// must be gone before pods get interfaces.
func (n node) initContainers() []corev1.Container {
	var containers []corev1.Container
	if overlayOff(n.config) {
		containers = append(containers, n.cleanupRoutes())
	}
	containers = append(containers, n.script("log-mtu-issues", logMTUIssues), n.installCNI())
	if n.config.EBPFDataplane.Enabled {
		containers = append(containers, n.ebpfBootstrap())
	}
	if !n.isPrivileged() {
		containers = append(containers, n.hostpathInit())
	}
	return containers
}

// cleanupRoutes removes the routes of a former overlay, and with backend none all that BIRD
// made. Where BIRD is the backend, the others are those that pods use now.
func (n node) cleanupRoutes() corev1.Container {
	source := cleanupRoutes
	if hasBackend(n.config, v1alpha1.Bird) {
		source = cleanupTunnelRoutes
	}
	return n.script("cleanup-routes", source)
}

// script runs a script in the node's network, privileged.
func (n node) script(name, source string) corev1.Container {
	return corev1.Container{
		Name:            name,
		Image:           n.image(nodeImage),
		Command:         system.Shell(source),
		SecurityContext: system.Privileged(),
	}
}

func (n node) installCNI() corev1.Container {
	var env system.Environment
	env.Set("CNI_CONF_NAME", cniConfigName)
	env.FromConfigMap("CNI_NETWORK_CONFIG", configName, cniConfigKey, nil)
	env.FromField("KUBERNETES_NODE_NAME", "spec.nodeName")
	env.FromConfigMap("CNI_MTU", configName, mtuKey, nil)
	env.Set("SLEEP", "false")
	return corev1.Container{
		Name:            "install-cni",
		Image:           n.image("calico-cni"),
		Command:         []string{"/opt/cni/bin/install"},
		EnvFrom:         serviceEndpoint(),
		Env:             env,
		SecurityContext: system.Privileged(),
		VolumeMounts: []corev1.VolumeMount{
			{Name: "cni-net-dir", MountPath: "/host/etc/cni/net.d"},
			{Name: "cni-bin-dir", MountPath: "/host/secondary-bin-dir"},
		},
	}
}

// ebpfBootstrap mounts the file systems of eBPF programs on the host.
func (n node) ebpfBootstrap() corev1.Container {
	return corev1.Container{
		Name:            "ebpf-bootstrap",
		Image:           n.image(nodeImage),
		Command:         []string{"calico-node", "-init", "-best-effort"},
		SecurityContext: system.Privileged(),
		VolumeMounts: []corev1.VolumeMount{
			{Name: "sys-fs", MountPath: "/sys/fs", MountPropagation: new(corev1.MountPropagationBidirectional)},
			{Name: "var-run-calico", MountPath: "/var/run/calico", MountPropagation: new(corev1.MountPropagationBidirectional)},
			{Name: "nodeproc", MountPath: "/nodeproc", ReadOnly: true},
		},
	}
}

// hostpathInit gives the host's folders to the user that calico-node runs as.
func (n node) hostpathInit() corev1.Container {
	return corev1.Container{
		Name:    "hostpath-init",
		Image:   n.image(nodeImage),
		Command: system.Shell("exec calico-node -hostpath-init"),
		Env:     []corev1.EnvVar{{Name: "NODE_USER_ID", Value: strconv.Itoa(nodeUser)}},
		SecurityContext: &corev1.SecurityContext{
			RunAsUser:                new(int64(0)),
			AllowPrivilegeEscalation: new(false),
		},
		VolumeMounts: hostFolders(),
	}
}
