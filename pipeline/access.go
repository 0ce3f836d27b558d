// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

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
func givePodsAccess(objects []plugin.Object, access *plugin.PodAccess) {
	for _, object := range objects {
		switch workload := object.(type) {
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
	refused := pod.AutomountServiceAccountToken != nil && !*pod.AutomountServiceAccountToken
	withToken := !refused && pod.ServiceAccountName != "" && pod.ServiceAccountName != "default" &&
		!slices.ContainsFunc(pod.Volumes, func(v corev1.Volume) bool { return strings.HasPrefix(v.Name, "kube-api-access-") })
	if withToken {
		pod.Volumes = append(pod.Volumes, projectedToken())
	}
	for _, containers := range [][]corev1.Container{pod.InitContainers, pod.Containers} {
		for i := range containers {
			container := &containers[i]
			setEnv(container, "KUBERNETES_SERVICE_HOST", access.Host)
			setEnv(container, "KUBERNETES_SERVICE_PORT", access.Port)
			if withToken {
				container.VolumeMounts = append(container.VolumeMounts, corev1.VolumeMount{
					Name: tokenVolume, MountPath: tokenMountPath, ReadOnly: true,
				})
			}
		}
	}
}

func setEnv(container *corev1.Container, name, value string) {
	has := slices.ContainsFunc(container.Env, func(e corev1.EnvVar) bool { return e.Name == name })
	if !has {
		container.Env = append(container.Env, corev1.EnvVar{Name: name, Value: value})
	}
}

func projectedToken() corev1.Volume {
	seconds, mode := int64(tokenSeconds), int32(0o444)
	return corev1.Volume{
		Name: tokenVolume,
		VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{
			DefaultMode: &mode,
			Sources: []corev1.VolumeProjection{
				{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{ExpirationSeconds: &seconds, Path: "token"}},
				{ConfigMap: &corev1.ConfigMapProjection{
					LocalObjectReference: corev1.LocalObjectReference{Name: "kube-root-ca.crt"},
					Items:                []corev1.KeyToPath{{Key: "ca.crt", Path: "ca.crt"}},
				}},
				{DownwardAPI: &corev1.DownwardAPIProjection{Items: []corev1.DownwardAPIVolumeFile{{
					Path:     "namespace",
					FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: "metadata.namespace"},
				}}}},
			},
		}},
	}
}
