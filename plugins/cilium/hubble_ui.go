// SPDX-License-Identifier: Apache-2.0

package cilium

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/plugin/system"
)

const (
	// uiName is the name of the Deployment, of the front-end's image, of Service,
	// ServiceAccount and roles, and the app label of the pods.
	uiName         = "hubble-ui"
	uiBackendImage = "hubble-ui-backend"
	uiConfigName   = "hubble-ui-nginx"
	uiConfigKey    = "nginx.conf"
	uiPort         = 8081
	uiBackendPort  = 8090
	uiUser         = 1001
)

func (h hubble) ui() []plugin.Object {
	return append(uiConstants(), h.uiDeployment())
}

func (h hubble) uiDeployment() *appsv1.Deployment {
	return &appsv1.Deployment{
		TypeMeta:   system.TypeMeta("apps/v1", "Deployment"),
		ObjectMeta: system.Named(uiName, component(uiName)),
		Spec: appsv1.DeploymentSpec{
			Replicas:             new(int32(1)),
			RevisionHistoryLimit: new(int32(2)),
			Strategy: appsv1.DeploymentStrategy{
				Type:          appsv1.RollingUpdateDeploymentStrategyType,
				RollingUpdate: &appsv1.RollingUpdateDeployment{MaxUnavailable: new(intstr.FromInt32(1))},
			},
			Selector: system.Selecting(system.App(uiName)),
			Template: corev1.PodTemplateSpec{
				ObjectMeta: system.PodMeta(system.MayReachOut(component(uiName))),
				Spec: corev1.PodSpec{
					ServiceAccountName:           uiName,
					AutomountServiceAccountToken: new(true),
					NodeSelector:                 map[string]string{corev1.LabelOSStable: "linux"},
					SecurityContext: &corev1.PodSecurityContext{
						RunAsUser:      new(int64(uiUser)),
						RunAsGroup:     new(int64(uiUser)),
						FSGroup:        new(int64(uiUser)),
						SeccompProfile: system.RuntimeDefault(),
					},
					Containers: []corev1.Container{h.uiFrontend(), h.uiBackend()},
					Volumes: []corev1.Volume{
						configMapVolume("hubble-ui-nginx-conf", uiConfigName, new(int32(0o644))),
						{Name: "tmp-dir", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
					},
				},
			},
		},
	}
}

func (h hubble) uiFrontend() corev1.Container {
	container := h.uiContainer("frontend", uiName, "http", uiPort)
	container.LivenessProbe = &corev1.Probe{ProbeHandler: uiAnswers("/healthz")}
	container.ReadinessProbe = &corev1.Probe{ProbeHandler: uiAnswers("/")}
	container.VolumeMounts = []corev1.VolumeMount{
		{Name: "hubble-ui-nginx-conf", MountPath: "/etc/nginx/conf.d/default.conf", SubPath: uiConfigKey},
		{Name: "tmp-dir", MountPath: "/tmp"},
	}
	return container
}

func uiAnswers(path string) corev1.ProbeHandler {
	return corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: path, Port: intstr.FromInt32(uiPort)}}
}

func (h hubble) uiBackend() corev1.Container {
	container := h.uiContainer("backend", uiBackendImage, "grpc", uiBackendPort)
	var env system.Environment
	env.Set("EVENTS_SERVER_PORT", decimal(uiBackendPort))
	env.Set("FLOWS_API_ADDR", relayName+":"+decimal(relayServicePort))
	container.Env = env
	return container
}

func (h hubble) uiContainer(name, image, portName string, port int32) corev1.Container {
	return corev1.Container{
		Name:            name,
		Image:           h.image(image),
		ImagePullPolicy: corev1.PullIfNotPresent,
		Ports:           []corev1.ContainerPort{{Name: portName, ContainerPort: port, Protocol: corev1.ProtocolTCP}},
		Resources: corev1.ResourceRequirements{
			Requests: system.Requests("100m", "64Mi"),
			Limits:   system.Requests("1000m", "1024Mi"),
		},
		SecurityContext:          &corev1.SecurityContext{AllowPrivilegeEscalation: new(false)},
		TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
	}
}
