// SPDX-License-Identifier: Apache-2.0

package calico

import (
	corev1 "k8s.io/api/core/v1"
)

// Types of paths on the host. anyPath takes what is there.
const (
	anyPath      = corev1.HostPathUnset
	directory    = corev1.HostPathDirectory
	madeIfAbsent = corev1.HostPathDirectoryOrCreate
	fileIfAbsent = corev1.HostPathFileOrCreate
)

func (n *network) nodeVolumes() []corev1.Volume {
	volumes := []corev1.Volume{hostPath("lib-modules", "/lib/modules", anyPath)}
	if n.isPrivileged() {
		volumes = append(volumes,
			hostPath("var-run-calico", "/var/run/calico", madeIfAbsent),
			hostPath("var-lib-calico", "/var/lib/calico", madeIfAbsent))
	} else {
		volumes = append(volumes,
			hostPath("var-run", "/var/run", anyPath),
			hostPath("var-lib", "/var/lib", anyPath),
			hostPath("var-log", "/var/log", anyPath))
	}
	volumes = append(volumes, hostPath("xtables-lock", "/run/xtables.lock", fileIfAbsent))
	if n.config.EBPFDataplane.Enabled {
		volumes = append(volumes,
			hostPath("sys-fs", "/sys/fs/", madeIfAbsent),
			hostPath("bpffs", "/sys/fs/bpf", directory),
			hostPath("nodeproc", "/proc", anyPath))
	}
	return append(volumes,
		hostPath("cni-bin-dir", "/opt/cni/bin", madeIfAbsent),
		hostPath("cni-net-dir", "/etc/cni/net.d", anyPath),
		hostPath("cni-log-dir", "/var/log/calico/cni", anyPath),
		hostPath("policysync", "/var/run/nodeagent", madeIfAbsent))
}

// nodeMounts are those of container calico-node.
func (n *network) nodeMounts() []corev1.VolumeMount {
	mounts := []corev1.VolumeMount{
		{Name: "cni-net-dir", MountPath: "/host/etc/cni/net.d"},
		{Name: "lib-modules", MountPath: "/lib/modules", ReadOnly: true},
		{Name: "xtables-lock", MountPath: "/run/xtables.lock"},
	}
	if n.isPrivileged() {
		mounts = append(mounts,
			corev1.VolumeMount{Name: "var-run-calico", MountPath: "/var/run/calico"},
			corev1.VolumeMount{Name: "var-lib-calico", MountPath: "/var/lib/calico"})
	} else {
		mounts = append(mounts, hostFolders()...)
	}
	mounts = append(mounts, corev1.VolumeMount{Name: "policysync", MountPath: "/var/run/nodeagent"})
	if n.config.EBPFDataplane.Enabled {
		mounts = append(mounts, corev1.VolumeMount{Name: "bpffs", MountPath: "/sys/fs/bpf"})
	}
	return append(mounts, corev1.VolumeMount{Name: "cni-log-dir", MountPath: "/var/log/calico/cni", ReadOnly: true})
}

// hostFolders are those whose parts a calico-node that is not privileged takes
// over from root.
func hostFolders() []corev1.VolumeMount {
	return []corev1.VolumeMount{
		{Name: "var-run", MountPath: "/var/run"},
		{Name: "var-lib", MountPath: "/var/lib"},
		{Name: "var-log", MountPath: "/var/log"},
	}
}

func hostPath(name, path string, kind corev1.HostPathType) corev1.Volume {
	source := &corev1.HostPathVolumeSource{Path: path}
	if kind != anyPath {
		source.Type = &kind
	}
	return corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{HostPath: source}}
}
