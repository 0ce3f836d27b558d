// SPDX-License-Identifier: Apache-2.0

package cilium

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/plugin/system"
)

const (
	// envoyName is the name of the DaemonSet, of its container, image, ServiceAccount
	// and Service, and the app label of its pods.
	envoyName         = "cilium-envoy"
	envoyConfigName   = "cilium-envoy-config"
	envoyConfigKey    = "bootstrap-config.json"
	envoyConfigVolume = "envoy-config"
	envoyFolder       = runFolder + "/envoy"
	artifactsVolume   = "envoy-artifacts"
	artifactsFolder   = envoyFolder + "/artifacts"
)

// envoy is the proxy that policies about requests go through. It runs beside the agent
// rather than in it, so that an agent that restarts breaks no connection.
type envoy struct{ *network }

func (e envoy) objects() []plugin.Object {
	return append(envoyConstants(), e.daemonSet())
}

func (e envoy) daemonSet() *appsv1.DaemonSet {
	return &appsv1.DaemonSet{
		TypeMeta:   system.TypeMeta("apps/v1", "DaemonSet"),
		ObjectMeta: system.Named(envoyName, perNode(envoyName, system.SystemApp(envoyName))),
		Spec: appsv1.DaemonSetSpec{
			Selector:             system.Selecting(system.App(envoyName)),
			RevisionHistoryLimit: new(int32(2)),
			UpdateStrategy:       system.RollOut(e.in),
			Template: corev1.PodTemplateSpec{
				ObjectMeta: envoyPodMeta(),
				Spec: corev1.PodSpec{
					ServiceAccountName:            envoyName,
					AutomountServiceAccountToken:  new(true),
					HostNetwork:                   true,
					PriorityClassName:             system.NodePriority,
					RestartPolicy:                 corev1.RestartPolicyAlways,
					TerminationGracePeriodSeconds: new(int64(1)),
					NodeSelector:                  map[string]string{corev1.LabelOSStable: "linux"},
					Tolerations:                   anyTaint(),
					Affinity:                      envoyAffinity(),
					Containers:                    []corev1.Container{e.container()},
					Volumes:                       envoyVolumes(),
				},
			},
		},
	}
}

func envoyPodMeta() metav1.ObjectMeta {
	meta := system.PodMeta(system.MayReachOut(perNode(envoyName, system.App(envoyName))))
	meta.Annotations = map[string]string{appArmorAnnotation + envoyName: unconfined}
	return meta
}

// envoyAffinity keeps proxies to nodes with an agent, one on each, but for nodes that
// are kept free of Cilium.
func envoyAffinity() *corev1.Affinity {
	return &corev1.Affinity{
		NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
			NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{
				{Key: "cilium.io/no-schedule", Operator: corev1.NodeSelectorOpNotIn, Values: []string{"true"}},
			}}},
		}},
		PodAffinity: &corev1.PodAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: sameNode(system.AppLabel, agentName),
		},
		PodAntiAffinity: &corev1.PodAntiAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: sameNode(system.AppLabel, envoyName),
		},
	}
}

func (e envoy) container() corev1.Container {
	health := e.healthz(intstr.FromInt32(envoyHealthPort))
	return corev1.Container{
		Name:            envoyName,
		Image:           e.image(envoyName),
		ImagePullPolicy: corev1.PullIfNotPresent,
		Command:         []string{"/usr/bin/cilium-envoy-starter"},
		// The starter passes on what comes after the first one, and splits it at blanks.
		Args:                     []string{"--", "-c " + envoyFolder + "/" + envoyConfigKey, "--base-id 0", "--log-level info"},
		Env:                      whereabouts(),
		Ports:                    []corev1.ContainerPort{hostPort("envoy-metrics", envoyMetricsPort)},
		StartupProbe:             &corev1.Probe{ProbeHandler: health, InitialDelaySeconds: 5, PeriodSeconds: 2, SuccessThreshold: 1, FailureThreshold: 105},
		LivenessProbe:            &corev1.Probe{ProbeHandler: health, PeriodSeconds: 30, TimeoutSeconds: 5, SuccessThreshold: 1, FailureThreshold: 10},
		ReadinessProbe:           &corev1.Probe{ProbeHandler: health, PeriodSeconds: 30, TimeoutSeconds: 5, SuccessThreshold: 1, FailureThreshold: 3},
		Resources:                corev1.ResourceRequirements{Requests: memory("200Mi")},
		SecurityContext:          onHost(capable("NET_ADMIN", "SYS_ADMIN")),
		TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
		VolumeMounts: []corev1.VolumeMount{
			{Name: socketsVolume, MountPath: socketsFolder},
			{Name: artifactsVolume, MountPath: artifactsFolder, ReadOnly: true},
			{Name: envoyConfigVolume, MountPath: envoyFolder + "/", ReadOnly: true},
			{Name: bpfVolume, MountPath: bpfFolder, MountPropagation: new(corev1.MountPropagationHostToContainer)},
		},
	}
}

func envoyVolumes() []corev1.Volume {
	const made = corev1.HostPathDirectoryOrCreate
	return []corev1.Volume{
		system.HostPath(socketsVolume, socketsFolder, made),
		system.HostPath(artifactsVolume, artifactsFolder, made),
		configMapVolume(envoyConfigVolume, envoyConfigName, new(int32(0o400)), envoyConfigKey),
		system.HostPath(bpfVolume, bpfFolder, made),
	}
}
