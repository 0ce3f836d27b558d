// SPDX-License-Identifier: Apache-2.0

package calico

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/plugin/system"
)

const (
	multusName  = "multus"
	multusImage = "multus-cni"

	// Where Multus' containers see the host's folders.
	hostCNIConfig = "/host/etc/cni/net.d"
	hostCNIBin    = "/host/opt/cni/bin"
)

// multus gives pods further networks. The container runtime calls Multus, which calls Calico
// for the first network of each pod.
type multus struct{ *network }

func (m multus) objects() []plugin.Object {
	if !m.config.Multus.Enabled {
		return nil
	}
	return append(multusAccess(), m.daemonSet())
}

func (m multus) daemonSet() *appsv1.DaemonSet {
	return &appsv1.DaemonSet{
		TypeMeta:   system.TypeMeta("apps/v1", "DaemonSet"),
		ObjectMeta: system.Named(multusName, criticalApp(multusName)),
		Spec: appsv1.DaemonSetSpec{
			Selector:       system.Selecting(system.App(multusName)),
			UpdateStrategy: system.RollOut(m.in),
			Template: corev1.PodTemplateSpec{
				ObjectMeta: system.PodMeta(multusPodLabels()),
				Spec: corev1.PodSpec{
					ServiceAccountName:            multusName,
					HostNetwork:                   true,
					PriorityClassName:             system.NodePriority,
					TerminationGracePeriodSeconds: new(int64(0)),
					NodeSelector:                  map[string]string{corev1.LabelOSStable: "linux"},
					Tolerations:                   system.TolerateAll(corev1.TaintEffectNoSchedule, corev1.TaintEffectNoExecute),
					SecurityContext:               &corev1.PodSecurityContext{SeccompProfile: system.RuntimeDefault()},
					InitContainers:                m.initContainers(),
					Containers:                    []corev1.Container{m.container()},
					Volumes: []corev1.Volume{
						system.HostPath("cni", "/etc/cni/net.d", anyPath),
						system.HostPath("cnibin", "/opt/cni/bin", anyPath),
					},
				},
			},
		},
	}
}

func multusPodLabels() map[string]string {
	labels := criticalApp(multusName)
	labels[system.ToAPIServer], labels[system.ToDNS] = system.Allowed, system.Allowed
	return labels
}

// initContainers install the programs that the container runtime calls: Multus and,
// if the user wants them, the CNI plugins of further networks.
func (m multus) initContainers() []corev1.Container {
	install := installer("install-multus-cni", m.image(multusImage))
	install.Command = []string{"/install_multus"}
	install.Args = []string{"--type", "thin"}
	containers := []corev1.Container{install}
	if m.config.Multus.InstallCNIPlugins {
		plugins := installer("install-cni-plugins", m.image("cni-plugins"))
		plugins.Command = system.Shell(installCNIPlugins)
		containers = append(containers, plugins)
	}
	return containers
}

// installer is a container that writes into the node's folder of CNI plugins.
func installer(name, image string) corev1.Container {
	return corev1.Container{
		Name:            name,
		Image:           image,
		Resources:       corev1.ResourceRequirements{Requests: system.Requests("10m", "15Mi")},
		SecurityContext: system.Privileged(),
		VolumeMounts:    []corev1.VolumeMount{{Name: "cnibin", MountPath: hostCNIBin}},
	}
}

func (m multus) container() corev1.Container {
	var env system.Environment
	env.FromField("MULTUS_NODE_NAME", "spec.nodeName")
	return corev1.Container{
		Name:    multusName,
		Image:   m.image(multusImage),
		Command: []string{"/thin_entrypoint"},
		Args: []string{
			"--cleanup-config-on-exit",
			"--cni-bin-dir=" + hostCNIBin,
			"--cni-conf-dir=" + hostCNIConfig,
			"--cni-version=" + cniSchemaVersion,
			"--multus-autoconfig-dir=" + hostCNIConfig,
			"--multus-cni-conf-dir=/etc/cni/multus/net.d",
			"--multus-conf-file=auto",
			"--multus-log-file=/var/log/multus.log",
			"--multus-log-level=error",
			"--multus-log-to-stderr=true",
			"--multus-master-cni-file-name=" + cniConfigName,
			// Pods wait until Calico's configuration is on the node.
			"--readiness-indicator-file=/etc/cni/net.d/" + cniConfigName,
		},
		Env:             env,
		Resources:       corev1.ResourceRequirements{Requests: system.Requests("100m", "200Mi")},
		SecurityContext: system.Privileged(),
		VolumeMounts: []corev1.VolumeMount{
			{Name: "cni", MountPath: hostCNIConfig},
			{Name: "cnibin", MountPath: hostCNIBin},
		},
	}
}
