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
	// tokenVolume and tokenMountPath are where Kubernetes' own admission puts a
	// pod's token, and where client libraries look for it.
	tokenVolume    = "kube-api-access-trellis"
	tokenMountPath = "/var/run/secrets/kubernetes.io/serviceaccount"
	// tokenSeconds is how long a token lives: 12 hours, as long as those that
	// Gardener's resource manager has the kubelet request.
	tokenSeconds = 43200
)

// givePodsAccess lets the network's workloads reach their API server without
// help of any admission webhook: each pod gets the address, from outside of the
// Services which do not work before the network does, and a token of its own
// where its ServiceAccount is not the default one, unless the pod wants none.
//
// A Job's pods cannot be changed: with a new address it would have to run once more, and
// do again what it has done. So it reaches the API server as every pod does, and retries
// until the network works. It gets a token unless it asks for one, which its API server
// then gives it. What a CronJob is to make next can be changed.
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
