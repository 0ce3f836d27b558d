// SPDX-License-Identifier: Apache-2.0

package plugintest

import (
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
)

func withoutChecksum(d *appsv1.DaemonSet) { d.Spec.Template.Annotations = nil }

func TestAgentsMayWatchWhatTheyRead(t *testing.T) {
	b := broken{wrong: changeAgent(withoutChecksum), options: []Option{
		WithWatched("DaemonSet kube-system/agent", "ConfigMap kube-system/agent", "it looks every minute"),
	}}
	NewWithT(t).Expect(problems(t, b.make(), b.allOptions(t))).To(BeEmpty())
}

// Only what agents read counts: one key here, which is the same in all networks of a case.
func TestAgentsNeedNotRestartForWhatTheyDoNotRead(t *testing.T) {
	b := broken{wrong: changeAgent(func(d *appsv1.DaemonSet) {
		withoutChecksum(d)
		d.Spec.Template.Spec.Volumes[0].ConfigMap.Items = []corev1.KeyToPath{{Key: "nothing", Path: "nothing"}}
	})}
	NewWithT(t).Expect(problems(t, b.make(), b.allOptions(t))).To(BeEmpty())
}

func TestConfigMapsAreReadInManyWays(t *testing.T) {
	g := NewWithT(t)
	from := func(name string) corev1.LocalObjectReference { return corev1.LocalObjectReference{Name: name} }
	read := func(name string, keys ...string) corev1.ConfigMapProjection {
		use := corev1.ConfigMapProjection{LocalObjectReference: from(name)}
		for _, key := range keys {
			use.Items = append(use.Items, corev1.KeyToPath{Key: key})
		}
		return use
	}
	g.Expect(configMapsOf(&corev1.PodSpec{
		InitContainers: []corev1.Container{{EnvFrom: []corev1.EnvFromSource{{ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: from("all")}}}}},
		Containers: []corev1.Container{{Env: []corev1.EnvVar{
			{Name: "A", ValueFrom: &corev1.EnvVarSource{ConfigMapKeyRef: &corev1.ConfigMapKeySelector{LocalObjectReference: from("keys"), Key: "a"}}},
			{Name: "B", ValueFrom: &corev1.EnvVarSource{ConfigMapKeyRef: &corev1.ConfigMapKeySelector{LocalObjectReference: from("all"), Key: "b"}}},
		}}},
		Volumes: []corev1.Volume{{VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{
			{ConfigMap: &corev1.ConfigMapProjection{LocalObjectReference: from("keys"), Items: []corev1.KeyToPath{{Key: "c"}}}},
		}}}}},
	})).To(ConsistOf(
		read("keys", "a"), read("keys", "c"), read("all"), read("all", "b"),
	))
}
