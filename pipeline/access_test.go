// SPDX-License-Identifier: Apache-2.0

package pipeline_test

import (
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/trellis-network/trellis/pipeline"
	"github.com/trellis-network/trellis/plugin"
)

func pod(t *testing.T, environment pipeline.Environment) corev1.PodSpec {
	t.Helper()
	p := newPipeline(t, stringPlugin{})
	result := p.Build(p.NewRequest(network(""), nil, environment))
	NewWithT(t).Expect(result.Errors).To(BeEmpty())
	return result.Objects.Shoot[1].(*appsv1.DaemonSet).Spec.Template.Spec
}

// In a landscape, Gardener's webhooks give pods their token and the address of
// their API server. Standalone, the pods carry both.
func TestStandalonePodsCarryTheirAccess(t *testing.T) {
	g := NewWithT(t)
	spec := pod(t, pipeline.Environment{PodAccess: &plugin.PodAccess{Host: "api.example.org", Port: "443"}})
	g.Expect(spec.Volumes).To(HaveLen(1))
	g.Expect(spec.Volumes[0].Projected.Sources).To(HaveLen(3))
	for _, container := range append(spec.InitContainers, spec.Containers...) {
		g.Expect(container.VolumeMounts).To(ConsistOf(HaveField("MountPath", "/var/run/secrets/kubernetes.io/serviceaccount")), container.Name)
		g.Expect(container.Env).To(ContainElement(corev1.EnvVar{Name: "KUBERNETES_SERVICE_HOST", Value: "api.example.org"}), container.Name)
	}
	g.Expect(spec.InitContainers[0].Env).To(ContainElement(corev1.EnvVar{Name: "KUBERNETES_SERVICE_PORT", Value: "443"}))
	g.Expect(spec.Containers[0].Env).To(ContainElement(corev1.EnvVar{Name: "KUBERNETES_SERVICE_PORT", Value: "1"}), "what the plugin states goes before")
}

func TestPodsInALandscapeAreLeftAlone(t *testing.T) {
	g := NewWithT(t)
	spec := pod(t, pipeline.Environment{})
	g.Expect(spec.Volumes).To(BeEmpty())
	g.Expect(spec.InitContainers[0].Env).To(BeEmpty())
}
