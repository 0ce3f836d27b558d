// SPDX-License-Identifier: Apache-2.0

package calico

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/trellis-network/trellis/plugin/system"
)

// Types of paths on the host. anyPath accepts any type.
const (
	anyPath      = corev1.HostPathUnset
	directory    = corev1.HostPathDirectory
	madeIfAbsent = corev1.HostPathDirectoryOrCreate
	fileIfAbsent = corev1.HostPathFileOrCreate
)

func (n node) volumes() []corev1.Volume {
	volumes := []corev1.Volume{system.HostPath("lib-modules", "/lib/modules", anyPath)}
	if n.isPrivileged() {
		volumes = append(volumes,
			system.HostPath("var-run-calico", "/var/run/calico", madeIfAbsent),
			system.HostPath("var-lib-calico", "/var/lib/calico", madeIfAbsent))
	} else {
		volumes = append(volumes,
			system.HostPath("var-run", "/var/run", anyPath),
			system.HostPath("var-lib", "/var/lib", anyPath),
			system.HostPath("var-log", "/var/log", anyPath))
	}
	volumes = append(volumes, system.HostPath("xtables-lock", "/run/xtables.lock", fileIfAbsent))
	if n.config.EBPFDataplane.Enabled {
		volumes = append(volumes,
			system.HostPath("sys-fs", "/sys/fs/", madeIfAbsent),
			system.HostPath("bpffs", "/sys/fs/bpf", directory),
			system.HostPath("nodeproc", "/proc", anyPath))
	}
	return append(volumes,
		system.HostPath("cni-bin-dir", "/opt/cni/bin", madeIfAbsent),
		system.HostPath("cni-net-dir", "/etc/cni/net.d", anyPath),
		system.HostPath("cni-log-dir", "/var/log/calico/cni", anyPath),
		system.HostPath("policysync", "/var/run/nodeagent", madeIfAbsent))
}

// mounts are those of container calico-node.
func (n node) mounts() []corev1.VolumeMount {
	mounts := []corev1.VolumeMount{
		{Name: "cni-net-dir", MountPath: "/host/etc/cni/net.d"},
		{Name: "lib-modules", MountPath: "/lib/modules", ReadOnly: true},
		{Name: "xtables-lock", MountPath: "/run/xtables.lock"},
	}
	if n.isPrivileged() {
		mounts = append(mounts,
			corev1.VolumeMount{Name: "var-run-calico", MountPath: "/var/run/calico"},
			n.stateMount())
	} else {
		mounts = append(mounts, hostFolders()...)
	}
	mounts = append(mounts, corev1.VolumeMount{Name: "policysync", MountPath: "/var/run/nodeagent"})
	if n.config.EBPFDataplane.Enabled {
		mounts = append(mounts, corev1.VolumeMount{Name: "bpffs", MountPath: "/sys/fs/bpf"})
	}
	return append(mounts, corev1.VolumeMount{Name: "cni-log-dir", MountPath: "/var/log/calico/cni", ReadOnly: true})
}

// stateMount is the folder on the node in which calico-node notes that its pod has ended.
func (n node) stateMount() corev1.VolumeMount {
	if n.isPrivileged() {
		return corev1.VolumeMount{Name: "var-lib-calico", MountPath: "/var/lib/calico"}
	}
	return corev1.VolumeMount{Name: "var-lib", MountPath: "/var/lib/calico", SubPath: "calico"}
}

// hostFolders are the folders of which an unprivileged calico-node owns parts.
func hostFolders() []corev1.VolumeMount {
	return []corev1.VolumeMount{
		{Name: "var-run", MountPath: "/var/run"},
		{Name: "var-lib", MountPath: "/var/lib"},
		{Name: "var-log", MountPath: "/var/log"},
	}
}
