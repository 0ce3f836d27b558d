// SPDX-License-Identifier: Apache-2.0

package cilium

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/plugin/system"
)

const (
	// relayName is the name of the Deployment, of its container, program and image, its
	// Service and ServiceAccount, and the app label of its pods.
	relayName        = "hubble-relay"
	relayConfigName  = "hubble-relay-config"
	relayConfigKey   = "config.yaml"
	relayTLSFolder   = "/var/lib/hubble-relay/tls"
	relayPort        = 4245
	relayHealthPort  = 4222
	relayServicePort = 80
	relayUser        = 65532
)

func (h hubble) relay() []plugin.Object {
	return append(relayConstants(), h.relayDeployment())
}

func (h hubble) relayDeployment() *appsv1.Deployment {
	return &appsv1.Deployment{
		TypeMeta:   system.TypeMeta("apps/v1", "Deployment"),
		ObjectMeta: system.Named(relayName, component(relayName)),
		Spec: appsv1.DeploymentSpec{
			Replicas:             new(int32(1)),
			RevisionHistoryLimit: new(int32(2)),
			Selector:             system.Selecting(system.App(relayName)),
			Template: corev1.PodTemplateSpec{
				ObjectMeta: system.PodMeta(system.MayReachOut(component(relayName))),
				Spec: corev1.PodSpec{
					ServiceAccountName:            relayName,
					AutomountServiceAccountToken:  new(false),
					RestartPolicy:                 corev1.RestartPolicyAlways,
					TerminationGracePeriodSeconds: new(int64(1)),
					NodeSelector:                  map[string]string{corev1.LabelOSStable: "linux"},
					Affinity: &corev1.Affinity{PodAffinity: &corev1.PodAffinity{
						RequiredDuringSchedulingIgnoredDuringExecution: sameNode(system.AppLabel, agentName),
					}},
					SecurityContext: &corev1.PodSecurityContext{FSGroup: new(int64(relayUser)), SeccompProfile: system.RuntimeDefault()},
					Containers:      []corev1.Container{h.relayContainer()},
					Volumes: []corev1.Volume{
						configMapVolume("config", relayConfigName, nil, relayConfigKey),
						projected("tls", certificate(hubbleRelayCerts, "client.crt", "client.key", "hubble-server-ca.crt")),
					},
				},
			},
		},
	}
}

func (h hubble) relayContainer() corev1.Container {
	health := corev1.ProbeHandler{GRPC: &corev1.GRPCAction{Port: relayHealthPort, Service: new("")}}
	context := confined(capable())
	context.RunAsNonRoot = new(true)
	context.RunAsUser = new(int64(relayUser))
	context.RunAsGroup = new(int64(relayUser))
	context.SeccompProfile = system.RuntimeDefault()
	return corev1.Container{
		Name:            relayName,
		Image:           h.image(relayName),
		ImagePullPolicy: corev1.PullIfNotPresent,
		Command:         []string{"hubble-relay"},
		Args:            []string{"serve"},
		Ports:           []corev1.ContainerPort{{Name: "grpc", ContainerPort: relayPort, Protocol: corev1.ProtocolTCP}},
		StartupProbe:    &corev1.Probe{ProbeHandler: health, InitialDelaySeconds: 10, PeriodSeconds: 3, TimeoutSeconds: 3, FailureThreshold: 20},
		LivenessProbe:   &corev1.Probe{ProbeHandler: health, InitialDelaySeconds: 10, PeriodSeconds: 10, TimeoutSeconds: 10, FailureThreshold: 12},
		ReadinessProbe:  &corev1.Probe{ProbeHandler: health, TimeoutSeconds: 3},
		Resources: corev1.ResourceRequirements{
			Requests: memory("150Mi"),
			Limits:   corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("1Gi")},
		},
		SecurityContext:          context,
		TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
		VolumeMounts: []corev1.VolumeMount{
			{Name: "config", MountPath: "/etc/hubble-relay", ReadOnly: true},
			{Name: "tls", MountPath: relayTLSFolder, ReadOnly: true},
		},
	}
}
