// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/trellis-network/trellis/plugin"
)

const (
	tokenVolume = "kube-api-access-trellis"
	// tokenMountPath is where Kubernetes mounts a pod's token, and client libraries read it.
	tokenMountPath = "/var/run/secrets/kubernetes.io/serviceaccount"
	// tokenSeconds are 12 hours, as with Gardener's resource manager.
	tokenSeconds = 43200
)

// givePodsAccess gives the network's workloads what they need to reach their API server
// without an admission webhook: the server's external address, since Services do not work
// before the network does, and a token if the pod has a ServiceAccount other than the
// default one and does not refuse a token.
//
// The template of a Job cannot change, and a Job with a new address would run again. So its
// pods use the Service, and retry until the network works. A Job that states whether it
// wants a token gets it from its API server.
func givePodsAccess(objects []plugin.Object, access *plugin.PodAccess) {
	for _, object := range objects {
		switch workload := object.(type) {
		case *batchv1.Job:
			if pod := &workload.Spec.Template.Spec; pod.AutomountServiceAccountToken == nil {
				giveToken(pod)
			}
		case *batchv1.CronJob:
			giveAccess(&workload.Spec.JobTemplate.Spec.Template.Spec, access)
		case *appsv1.DaemonSet:
			giveAccess(&workload.Spec.Template.Spec, access)
		case *appsv1.Deployment:
			giveAccess(&workload.Spec.Template.Spec, access)
		case *appsv1.StatefulSet:
			giveAccess(&workload.Spec.Template.Spec, access)
		}
	}
}

func giveAccess(pod *corev1.PodSpec, access *plugin.PodAccess) {
	giveToken(pod)
	forContainers(pod, func(container *corev1.Container) {
		setEnv(container, "KUBERNETES_SERVICE_HOST", access.Host)
		setEnv(container, "KUBERNETES_SERVICE_PORT", access.Port)
	})
}

func giveToken(pod *corev1.PodSpec) {
	refused := !ptr.Deref(pod.AutomountServiceAccountToken, true)
	has := slices.ContainsFunc(pod.Volumes, func(v corev1.Volume) bool { return strings.HasPrefix(v.Name, "kube-api-access-") })
	if refused || has || pod.ServiceAccountName == "" || pod.ServiceAccountName == "default" {
		return
	}
	pod.Volumes = append(pod.Volumes, projectedToken())
	forContainers(pod, func(container *corev1.Container) {
		container.VolumeMounts = append(container.VolumeMounts, corev1.VolumeMount{
			Name: tokenVolume, MountPath: tokenMountPath, ReadOnly: true,
		})
	})
}

func forContainers(pod *corev1.PodSpec, do func(*corev1.Container)) {
	for _, containers := range [][]corev1.Container{pod.InitContainers, pod.Containers} {
		for i := range containers {
			do(&containers[i])
		}
	}
}

func setEnv(container *corev1.Container, name, value string) {
	if !slices.ContainsFunc(container.Env, func(e corev1.EnvVar) bool { return e.Name == name }) {
		container.Env = append(container.Env, corev1.EnvVar{Name: name, Value: value})
	}
}

func projectedToken() corev1.Volume {
	return corev1.Volume{Name: tokenVolume, VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{
		DefaultMode: ptr.To[int32](0o444),
		Sources: []corev1.VolumeProjection{
			{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{ExpirationSeconds: ptr.To[int64](tokenSeconds), Path: "token"}},
			{ConfigMap: &corev1.ConfigMapProjection{
				LocalObjectReference: corev1.LocalObjectReference{Name: "kube-root-ca.crt"},
				Items:                []corev1.KeyToPath{{Key: "ca.crt", Path: "ca.crt"}},
			}},
			{DownwardAPI: &corev1.DownwardAPIProjection{Items: []corev1.DownwardAPIVolumeFile{{
				Path:     "namespace",
				FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: "metadata.namespace"},
			}}}},
		},
	}}}
}
