// SPDX-License-Identifier: Apache-2.0

package cilium

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/trellis-network/trellis/plugin/system"
)

// Init containers for which the pods have AppArmor annotations.
const (
	mountCgroupName = "mount-cgroup"
	applySysctlName = "apply-sysctl-overwrites"
	cleanStateName  = "clean-cilium-state"
)

// Folders of the node that helpers write to, and of the agent's state.
const (
	cniFolder    = "/opt/cni/bin"
	cgroupFolder = "/run/cilium/cgroupv2"
	bpfFolder    = "/sys/fs/bpf"
	runFolder    = "/var/run/cilium"
)

// agentInit prepares a node before the agent starts.
type agentInit struct{ *network }

// containers are the init containers of the agent. Their order matters: file systems have
// to be mounted before state is looked at, and rules of a former kube-proxy go last, when
// all that the agent needs is there.
func (i agentInit) containers() []corev1.Container {
	containers := []corev1.Container{
		i.disableRPFilter(), i.buildConfig(), i.mountCgroup(), i.applySysctl(), i.mountBPF(), i.cleanState(), i.installCNI(),
	}
	if replacesKubeProxy(i.in) {
		containers = append(containers, i.cleanUpKubeProxy())
	}
	return containers
}

// helper is a container that runs to its end before the agent starts.
func (i agentInit) helper(name string, command []string, context *corev1.SecurityContext, mounts ...corev1.VolumeMount) corev1.Container {
	return corev1.Container{
		Name:                     name,
		Image:                    i.image(agentContainer),
		ImagePullPolicy:          corev1.PullIfNotPresent,
		Command:                  command,
		SecurityContext:          context,
		TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
		VolumeMounts:             mounts,
	}
}

// disableRPFilter keeps the kernel from dropping what comes in elsewhere than where
// its answer would go out, as packets of pods do.
func (i agentInit) disableRPFilter() corev1.Container {
	container := i.helper("disable-rp-filter", system.Shell(disableRPFilter), onHost(confined(capable())),
		corev1.VolumeMount{Name: hostEtcVolume, MountPath: "/host/etc"})
	container.TerminationMessagePolicy = ""
	return container
}

// buildConfig resolves the configuration of this node, to which CiliumNodeConfigs may
// add, into a folder. The agent does not read that folder but the ConfigMap itself, as in
// Gardener. So all that the container does is let the agent start only once the API server
// answers.
func (i agentInit) buildConfig() corev1.Container {
	container := i.helper("config", []string{"cilium-dbg", "build-config"}, confined(capable("NET_ADMIN")),
		corev1.VolumeMount{Name: tmpVolume, MountPath: "/tmp"})
	container.Env = whereabouts()
	return container
}

// mountCgroup mounts the file system of control groups for the host to see. The tool
// for it must run on the host. It is copied to the folder of CNI plugins, the only one that
// is known to allow programs.
func (i agentInit) mountCgroup() corev1.Container {
	container := i.onHostFromCNIFolder(mountCgroupName, mountCgroup)
	container.Env = append(container.Env, corev1.EnvVar{Name: "CGROUP_ROOT", Value: cgroupFolder})
	return container
}

// applySysctl lets the host's later settings of the kernel not undo Cilium's.
func (i agentInit) applySysctl() corev1.Container {
	return i.onHostFromCNIFolder(applySysctlName, applySysctl)
}

func (i agentInit) onHostFromCNIFolder(name, script string) corev1.Container {
	container := i.helper(name, system.Shell(script), onHost(capable("SYS_ADMIN", "SYS_CHROOT", "SYS_PTRACE")),
		corev1.VolumeMount{Name: hostProcVolume, MountPath: "/hostproc"},
		corev1.VolumeMount{Name: cniVolume, MountPath: "/hostbin"})
	container.Env = system.Environment{{Name: "BIN_PATH", Value: cniFolder}}
	return container
}

// mountBPF mounts the file system that eBPF programs and maps are kept in. Only what is
// privileged can do that for the host to see.
func (i agentInit) mountBPF() corev1.Container {
	return i.helper("mount-bpf-fs", system.Shell(mountBPF), system.Privileged(),
		corev1.VolumeMount{Name: bpfVolume, MountPath: bpfFolder, MountPropagation: new(corev1.MountPropagationBidirectional)})
}

// cleanState removes what a former agent has left, if the configuration asks for it.
func (i agentInit) cleanState() corev1.Container {
	container := i.helper(cleanStateName, []string{"/init-container.sh"},
		onHost(capable("NET_ADMIN", "SYS_MODULE", "SYS_ADMIN", "SYS_RESOURCE", "SYSLOG")),
		corev1.VolumeMount{Name: bpfVolume, MountPath: bpfFolder},
		corev1.VolumeMount{Name: cgroupVolume, MountPath: cgroupFolder, MountPropagation: new(corev1.MountPropagationHostToContainer)},
		corev1.VolumeMount{Name: runVolume, MountPath: runFolder})
	var env system.Environment
	env.FromConfigMap("CILIUM_ALL_STATE", configName, "clean-cilium-state", new(true))
	env.FromConfigMap("CILIUM_BPF_STATE", configName, "clean-cilium-bpf-state", new(true))
	env.FromConfigMap("WRITE_CNI_CONF_WHEN_READY", configName, "write-cni-conf-when-ready", new(true))
	container.Env = env
	container.Resources.Requests = system.Requests("100m", "100Mi")
	return container
}

func (i agentInit) installCNI() corev1.Container {
	container := i.helper("install-cni-binaries", []string{"/install-plugin.sh"}, onHost(confined(capable())),
		corev1.VolumeMount{Name: cniVolume, MountPath: "/host" + cniFolder})
	container.Resources.Requests = system.Requests("100m", "100Mi")
	return container
}

// cleanUpKubeProxy removes the rules of a kube-proxy that ran on the node before.
func (i agentInit) cleanUpKubeProxy() corev1.Container {
	container := i.helper("cilium-kube-proxy-clean-up", system.Shell(cleanUpKubeProxy), mayChangeNetwork())
	container.TerminationMessagePolicy = ""
	return container
}

// mayChangeNetwork lets a container change rules of its node's network, besides what all
// containers may.
func mayChangeNetwork() *corev1.SecurityContext {
	return confined(&corev1.SecurityContext{
		Capabilities: &corev1.Capabilities{Add: []corev1.Capability{"NET_ADMIN"}},
	})
}
