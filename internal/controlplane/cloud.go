// SPDX-License-Identifier: Apache-2.0

// Package controlplane adapts the kube-controller-manager of a shoot to its infrastructure, as
// the second example of Gardener's extensibility overview does: flags for a cloud provider of its
// own, and a cloud config from a ConfigMap. It changes a pod template only; a webhook and a
// controller apply the result.
package controlplane

import (
	"crypto/sha256"
	"encoding/hex"
	"path"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trellis-network/trellis/internal/commandline"
)

const (
	// KubeControllerManager is the name of the Deployment in a control-plane namespace, and of
	// its container.
	KubeControllerManager = "kube-controller-manager"
	// ConfigMapName is the name of the ConfigMap with the cloud config, and of its volume.
	ConfigMapName = "cloud-provider-config"
	// ConfigKey is the key of the cloud config in the ConfigMap, and the name of the file.
	ConfigKey = "cloudprovider.conf"
	// ChecksumAnnotation on a pod template has the SHA-256 of the cloud config, so that new pods
	// replace those that have read another one.
	ChecksumAnnotation = "checksum/configmap-" + ConfigMapName
	// MutatedLabel is the label of the Deployments that Gardener's contract (4.2) lets webhooks
	// for control planes change.
	MutatedLabel = "provider.extensions.gardener.cloud/mutated-by-controlplane-webhook"

	configFolder = "/etc/kubernetes/cloudprovider"
)

// The flags that depend on the infrastructure.
const (
	cloudProvider             commandline.String = "cloud-provider"
	externalCloudVolumePlugin commandline.String = "external-cloud-volume-plugin"
	cloudConfig               commandline.String = "cloud-config"
)

// Cloud is what kube-controller-managers of shoots on one infrastructure must know of it.
type Cloud struct {
	// VolumePlugin names the in-tree volume plugin. Without it there must be no such flag.
	VolumePlugin string
	// Config is the content of the cloud config. Without it there must be no such file.
	Config string
	// Template, instead of Config, is a template of it, as of kubectl's -o jsonpath, with paths
	// of the control plane's Infrastructure. For returns what it becomes.
	Template string
}

// Checksum returns the value of ChecksumAnnotation.
func (c Cloud) Checksum() string {
	sum := sha256.Sum256([]byte(c.Config))
	return hex.EncodeToString(sum[:])
}

// Adapt changes the pods of a kube-controller-manager: its flags, the volume with the cloud
// config, and the annotation with its checksum. All else stays, in its order. Applied to its own
// result it changes nothing. It reports false, and changes nothing, if there is no such container.
func (c Cloud) Adapt(pods *corev1.PodTemplateSpec) bool {
	at := slices.IndexFunc(pods.Spec.Containers, func(c corev1.Container) bool { return c.Name == KubeControllerManager })
	if at < 0 {
		return false
	}
	container := &pods.Spec.Containers[at]
	cloudProvider.Ensure(container, "external")
	if c.VolumePlugin == "" {
		externalCloudVolumePlugin.Remove(container)
	} else {
		externalCloudVolumePlugin.Ensure(container, c.VolumePlugin)
	}
	if c.Config == "" {
		cloudConfig.Remove(container)
		delete(pods.Annotations, ChecksumAnnotation)
		unmount(pods, container)
		return true
	}
	cloudConfig.Ensure(container, path.Join(configFolder, ConfigKey))
	metav1.SetMetaDataAnnotation(&pods.ObjectMeta, ChecksumAnnotation, c.Checksum())
	mount(pods, container)
	return true
}

// mount mounts the ConfigMap, in place of another volume of that name or at that place.
func mount(pods *corev1.PodTemplateSpec, container *corev1.Container) {
	volume := corev1.Volume{Name: ConfigMapName, VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
		LocalObjectReference: corev1.LocalObjectReference{Name: ConfigMapName},
		// The API server's default, so that the result is the same once it is stored.
		DefaultMode: new(corev1.ConfigMapVolumeSourceDefaultMode),
	}}}
	pods.Spec.Volumes = put(pods.Spec.Volumes, volume, func(v corev1.Volume) bool { return v.Name == ConfigMapName })
	container.VolumeMounts = put(container.VolumeMounts, corev1.VolumeMount{Name: ConfigMapName, MountPath: configFolder},
		func(m corev1.VolumeMount) bool { return isOurs(m) || path.Clean(m.MountPath) == configFolder })
}

// unmount removes what mount has added. A volume that another container mounts stays.
func unmount(pods *corev1.PodTemplateSpec, container *corev1.Container) {
	container.VolumeMounts = slices.DeleteFunc(container.VolumeMounts, isOurs)
	isMounted := func(c corev1.Container) bool { return slices.ContainsFunc(c.VolumeMounts, isOurs) }
	if slices.ContainsFunc(pods.Spec.Containers, isMounted) || slices.ContainsFunc(pods.Spec.InitContainers, isMounted) {
		return
	}
	pods.Spec.Volumes = slices.DeleteFunc(pods.Spec.Volumes, func(v corev1.Volume) bool { return v.Name == ConfigMapName })
}

func isOurs(m corev1.VolumeMount) bool { return m.Name == ConfigMapName }

// put writes a value where the first of those is that it replaces, or else at the end.
func put[T any](values []T, value T, replaces func(T) bool) []T {
	at := slices.IndexFunc(values, replaces)
	if at < 0 {
		return append(values, value)
	}
	rest := slices.DeleteFunc(slices.Clone(values[at+1:]), replaces)
	return append(append(slices.Clone(values[:at]), value), rest...)
}
