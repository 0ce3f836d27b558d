// SPDX-License-Identifier: Apache-2.0

package flannel

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/trellis-network/trellis/plugin/system"
)

const (
	// nodeName is the name of the DaemonSet.
	nodeName = "kube-flannel-ds"
	// minReadySeconds is how long a pod must be ready before the next one is replaced. A
	// daemon that cannot start on a node fails sooner.
	minReadySeconds = 10

	appLabel, app   = "app", "flannel"
	tierLabel, tier = "tier", "node"
)

// Folders of the node, and where the daemon looks for its configuration.
const (
	cniBinaries = "/opt/cni/bin"
	cniConfigs  = "/etc/cni/net.d"
	cniConfig   = cniConfigs + "/10-flannel.conflist"
	runFolder   = "/run/flannel"
	subnetFile  = runFolder + "/subnet.env"
	lockFile    = "/run/xtables.lock"
	settingsAt  = "/etc/kube-flannel"
)

// labels are flannel's own, as its manifests have them.
func labels() map[string]string {
	return map[string]string{appLabel: app, tierLabel: tier, system.AppLabel: app}
}

// nodeLabels are those of the DaemonSet and its pods.
func nodeLabels() map[string]string {
	all := labels()
	all[system.RoleLabel] = system.SystemComponent
	all[system.CriticalLabel] = "true"
	return all
}

func (n *network) nodeSet() *appsv1.DaemonSet {
	daemonSet := &appsv1.DaemonSet{
		TypeMeta:   system.TypeMeta("apps/v1", "DaemonSet"),
		ObjectMeta: system.Named(nodeName, nodeLabels()),
		Spec: appsv1.DaemonSetSpec{
			Selector:             system.Selecting(map[string]string{appLabel: app}),
			MinReadySeconds:      minReadySeconds,
			RevisionHistoryLimit: new(int32(2)),
			UpdateStrategy:       system.RollOut(n.in),
			Template: corev1.PodTemplateSpec{
				ObjectMeta: system.PodMeta(system.MayReachOut(nodeLabels())),
				Spec: corev1.PodSpec{
					ServiceAccountName: account,
					HostNetwork:        true,
					PriorityClassName:  system.NodePriority,
					NodeSelector:       map[string]string{corev1.LabelOSStable: "linux"},
					Tolerations:        system.TolerateAll(corev1.TaintEffectNoSchedule, corev1.TaintEffectNoExecute),
					SecurityContext:    &corev1.PodSecurityContext{SeccompProfile: system.RuntimeDefault()},
					InitContainers:     n.installers(),
					Containers:         []corev1.Container{n.daemon()},
					Volumes:            volumes(),
				},
			},
		},
	}
	daemonSet.Spec.Template.Annotations = map[string]string{system.ChecksumAnnotation(configName): system.Checksum(n.settings)}
	return daemonSet
}

// installers install what the container runtime calls. The CNI configuration comes last:
// once it is on the node, the kubelet reports the node as ready.
func (n *network) installers() []corev1.Container {
	const plugins = "/usr/src/cni/bin/"
	binaries := corev1.VolumeMount{Name: "cni-plugin", MountPath: cniBinaries}
	return []corev1.Container{
		// flannel delegates to these, which the node may not have yet.
		installer("install-cni-plugins", n.image("cni-plugins"), []string{
			plugins + "bridge", plugins + "host-local", plugins + "loopback", plugins + "portmap", cniBinaries + "/",
		}, binaries),
		installer("install-cni-plugin", n.image("flannel-cni-plugin"), []string{"/flannel", cniBinaries + "/flannel"}, binaries),
		installer("install-cni", n.image("flannel"), []string{settingsAt + "/" + cniKey, cniConfig},
			corev1.VolumeMount{Name: "cni", MountPath: cniConfigs}, corev1.VolumeMount{Name: "flannel-cfg", MountPath: settingsAt}),
	}
}

// installer is a container that copies files, and replaces plugins while they run.
func installer(name, image string, files []string, mounts ...corev1.VolumeMount) corev1.Container {
	return corev1.Container{
		Name:            name,
		Image:           image,
		Command:         []string{"cp"},
		Args:            append([]string{"-f"}, files...),
		Resources:       corev1.ResourceRequirements{Requests: system.Requests("10m", "15Mi")},
		SecurityContext: confined(),
		VolumeMounts:    mounts,
	}
}

const (
	// startDaemon sets the time of an earlier daemon's file to 0, by which hasWritten
	// recognizes it. The file stays, since the CNI plugin starts pods with it meanwhile. The
	// daemon writes the file each time that it starts.
	startDaemon = "touch -c -d @0 " + subnetFile + " || rm -f " + subnetFile + "\n" + `exec /opt/bin/flanneld "$@"`
	// hasWritten succeeds once this daemon has written the file.
	hasWritten = "test -s " + subnetFile + ` && test "$(stat -c %Y ` + subnetFile + `)" -gt 0`
)

func (n *network) daemon() corev1.Container {
	var env system.Environment
	env.FromField("POD_NAME", "metadata.name")
	env.FromField("POD_NAMESPACE", "metadata.namespace")
	env.Set("EVENT_QUEUE_DEPTH", "5000")
	env.Set("CONT_WHEN_CACHE_NOT_READY", "false")
	context := confined()
	context.Capabilities = &corev1.Capabilities{Add: []corev1.Capability{"NET_ADMIN", "NET_RAW"}}
	return corev1.Container{
		Name:    "kube-flannel",
		Image:   n.image("flannel"),
		Command: append(system.Shell(startDaemon), "flanneld"),
		Args:    []string{"--ip-masq", "--kube-subnet-mgr"},
		Env:     env,
		Resources: corev1.ResourceRequirements{
			Requests: n.config.Resources.Requests.DeepCopy(), Limits: n.config.Resources.Limits.DeepCopy(),
		},
		SecurityContext: context,
		// Without that file the CNI plugin starts no pod.
		ReadinessProbe: &corev1.Probe{ProbeHandler: system.Execute(system.Shell(hasWritten)...), PeriodSeconds: 5},
		VolumeMounts: []corev1.VolumeMount{
			{Name: "run", MountPath: runFolder},
			{Name: "flannel-cfg", MountPath: settingsAt},
			{Name: "xtables-lock", MountPath: lockFile},
		},
	}
}

// confined keeps a container from getting more rights than it starts with.
func confined() *corev1.SecurityContext {
	return &corev1.SecurityContext{Privileged: new(false), AllowPrivilegeEscalation: new(false)}
}

func volumes() []corev1.Volume {
	return []corev1.Volume{
		system.HostPath("run", runFolder, corev1.HostPathDirectoryOrCreate),
		system.HostPath("cni-plugin", cniBinaries, corev1.HostPathDirectoryOrCreate),
		system.HostPath("cni", cniConfigs, corev1.HostPathDirectoryOrCreate),
		{Name: "flannel-cfg", VolumeSource: corev1.VolumeSource{
			ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: configName}},
		}},
		system.HostPath("xtables-lock", lockFile, corev1.HostPathFileOrCreate),
	}
}
