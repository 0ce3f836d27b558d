// SPDX-License-Identifier: Apache-2.0

package pipeline_test

import (
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/test/contract"
)

func pod(t *testing.T, environment plugin.Environment) corev1.PodSpec {
	t.Helper()
	p := newPipeline(t, noopPlugin{})
	result := p.Build(p.NewRequest(network(""), nil, environment))
	NewWithT(t).Expect(result.Errors).To(BeEmpty())
	return result.Objects.For(plugin.Shoot)[1].(*appsv1.DaemonSet).Spec.Template.Spec
}

// In a landscape, Gardener's webhooks give pods their token and the address of
// their API server. Standalone, the pods carry both.
func TestStandalonePodsCarryTheirAccess(t *testing.T) {
	contract.Shows(t, "P1")
	g := NewWithT(t)
	spec := pod(t, plugin.Environment{PodAccess: &plugin.PodAccess{Host: "api.example.org", Port: "443"}})
	g.Expect(spec.Volumes).To(HaveLen(1))
	g.Expect(spec.Volumes[0].Projected.Sources).To(HaveLen(3))
	for _, container := range append(spec.InitContainers, spec.Containers...) {
		g.Expect(container.VolumeMounts).To(ConsistOf(HaveField("MountPath", "/var/run/secrets/kubernetes.io/serviceaccount")), container.Name)
		g.Expect(container.Env).To(ContainElement(corev1.EnvVar{Name: "KUBERNETES_SERVICE_HOST", Value: "api.example.org"}), container.Name)
	}
	g.Expect(spec.InitContainers[0].Env).To(ContainElement(corev1.EnvVar{Name: "KUBERNETES_SERVICE_PORT", Value: "443"}))
	g.Expect(spec.Containers[0].Env).To(ContainElement(corev1.EnvVar{Name: "KUBERNETES_SERVICE_PORT", Value: "1"}), "what the plugin states takes precedence")
}

func TestPodsInALandscapeAreLeftAlone(t *testing.T) {
	contract.Shows(t, "P1")
	g := NewWithT(t)
	spec := pod(t, plugin.Environment{})
	g.Expect(spec.Volumes).To(BeEmpty())
	g.Expect(spec.InitContainers[0].Env).To(BeEmpty())
}

// task is a pod that runs once.
func task(automount *bool) corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{Spec: corev1.PodSpec{
		ServiceAccountName: "tasks", AutomountServiceAccountToken: automount, Containers: []corev1.Container{{Name: "look"}},
	}}
}

func jobOf(automount *bool) *batchv1.Job {
	return &batchv1.Job{
		TypeMeta: metav1.TypeMeta{APIVersion: "batch/v1", Kind: "Job"}, ObjectMeta: metav1.ObjectMeta{Name: "look"},
		Spec: batchv1.JobSpec{Template: task(automount)},
	}
}

// The pods of a Job cannot be changed, as they would have to be with a new address.
func TestStandaloneJobsRunOnceWhateverTheAddress(t *testing.T) {
	for name, test := range map[string]struct {
		automount *bool
		tokens    int
	}{
		"nothing said":            {nil, 1},
		"its API server gives it": {new(true), 0},
		"no token wanted":         {new(false), 0},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			var jobs []*batchv1.Job
			for _, host := range []string{"a.example.org", "b.example.org"} {
				p := newPipeline(t, noopPlugin{tasks: func() []plugin.Object { return []plugin.Object{jobOf(test.automount)} }})
				result := p.Build(p.NewRequest(network(""), nil, plugin.Environment{PodAccess: &plugin.PodAccess{Host: host, Port: "443"}}))
				g.Expect(result.Errors).To(BeEmpty())
				jobs = append(jobs, result.Objects.In(tasksBundle)[0].(*batchv1.Job))
			}
			g.Expect(jobs[0]).To(Equal(jobs[1]))
			g.Expect(jobs[0].Spec.Template.Spec.Volumes).To(HaveLen(test.tokens))
			g.Expect(jobs[0].Spec.Template.Spec.Containers[0].VolumeMounts).To(HaveLen(test.tokens))
		})
	}
}

func TestStandaloneCronJobsCarryTheirAccess(t *testing.T) {
	g := NewWithT(t)
	p := newPipeline(t, noopPlugin{tasks: func() []plugin.Object {
		return []plugin.Object{&batchv1.CronJob{
			TypeMeta: metav1.TypeMeta{APIVersion: "batch/v1", Kind: "CronJob"}, ObjectMeta: metav1.ObjectMeta{Name: "look"},
			Spec: batchv1.CronJobSpec{JobTemplate: batchv1.JobTemplateSpec{Spec: batchv1.JobSpec{Template: task(nil)}}},
		}}
	}})
	result := p.Build(p.NewRequest(network(""), nil, plugin.Environment{PodAccess: &plugin.PodAccess{Host: "api.example.org", Port: "443"}}))
	g.Expect(result.Errors).To(BeEmpty())
	spec := result.Objects.In(tasksBundle)[0].(*batchv1.CronJob).Spec.JobTemplate.Spec.Template.Spec
	g.Expect(spec.Volumes).To(HaveLen(1))
	g.Expect(spec.Containers[0].VolumeMounts).To(HaveLen(1))
	g.Expect(spec.Containers[0].Env).To(ContainElements(
		corev1.EnvVar{Name: "KUBERNETES_SERVICE_HOST", Value: "api.example.org"}, corev1.EnvVar{Name: "KUBERNETES_SERVICE_PORT", Value: "443"}))
}
