// SPDX-License-Identifier: Apache-2.0

package robustness

import (
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trellis-network/trellis/plugin"
)

const restartedAt = "kubectl.kubernetes.io/restartedAt"

func deployment(w *world, color string) *appsv1.Deployment {
	labels := map[string]string{"app": w.run}
	return named(w, "agent", &appsv1.Deployment{
		TypeMeta: typeMeta("apps/v1", "Deployment"),
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: podSpec(color)},
		},
	})
}

func quantities(name corev1.ResourceName, value string) corev1.ResourceList {
	return corev1.ResourceList{name: resource.MustParse(value)}
}

func scale(w *world) {
	change(w, "agent", &appsv1.Deployment{}, func(d *appsv1.Deployment) { d.Spec.Replicas = ptr.To[int32](3) })
}

func resize(w *world) {
	change(w, "agent", &appsv1.Deployment{}, func(d *appsv1.Deployment) {
		resources := &d.Spec.Template.Spec.Containers[0].Resources
		resources.Requests, resources.Limits = quantities("cpu", "70m"), quantities("memory", "70Mi")
	})
}

// jobTemplate returns the spec of a Job and of a CronJob's template.
func jobTemplate() batchv1.JobSpec {
	pod := podSpec("red")
	pod.RestartPolicy = corev1.RestartPolicyNever
	return batchv1.JobSpec{Template: corev1.PodTemplateSpec{Spec: pod}}
}

func restart(template *corev1.PodTemplateSpec) {
	template.Annotations = map[string]string{restartedAt: "now", theirs: "yes"}
}

var onlyRestarted = Equal(map[string]string{restartedAt: "now"})

// The fields of workloads that Trellis keeps (Gardener contract, R11, R12, R30).
var workloadStories = []*story{
	storyOf("replicas that the bundle does not set", func(w *world, text string) plugin.Object { return deployment(w, text) }, scale, func(w *world) {
		d := there(w, "agent", &appsv1.Deployment{})
		w.Expect(d.Spec.Replicas).To(HaveValue(Equal(int32(3))))
		w.Expect(colorOf(&d.Spec.Template)).To(Equal("blue"))
	}),
	storyOf("replicas that the bundle sets", func(w *world, text string) plugin.Object {
		d := deployment(w, text)
		d.Spec.Replicas = ptr.To[int32](0)
		return d
	}, scale, func(w *world) {
		w.Expect(there(w, "agent", &appsv1.Deployment{}).Spec.Replicas).To(HaveValue(Equal(int32(0))))
	}),
	storyOf("restartedAt of a DaemonSet", func(w *world, text string) plugin.Object { return daemonSet(w.run, text) }, func(w *world) {
		change(w, "agent", &appsv1.DaemonSet{}, func(d *appsv1.DaemonSet) { restart(&d.Spec.Template) })
	}, func(w *world) {
		w.Expect(there(w, "agent", &appsv1.DaemonSet{}).Spec.Template.Annotations).To(onlyRestarted)
	}),
	storyOf("restartedAt of a Deployment", func(w *world, text string) plugin.Object { return deployment(w, text) }, func(w *world) {
		change(w, "agent", &appsv1.Deployment{}, func(d *appsv1.Deployment) { restart(&d.Spec.Template) })
	}, func(w *world) {
		w.Expect(there(w, "agent", &appsv1.Deployment{}).Spec.Template.Annotations).To(onlyRestarted)
	}),
	storyOf("resources without preserve-resources", func(w *world, text string) plugin.Object {
		d := deployment(w, text)
		d.Spec.Template.Spec.Containers[0].Resources.Requests = quantities("cpu", "10m")
		return d
	}, resize, func(w *world) {
		resources := there(w, "agent", &appsv1.Deployment{}).Spec.Template.Spec.Containers[0].Resources
		w.Expect(resources.Requests.Cpu().String()).To(Equal("10m"))
		w.Expect(resources.Limits).To(BeEmpty())
	}),
	storyOf("replicas and restartedAt of a StatefulSet", func(w *world, text string) plugin.Object {
		d := deployment(w, text)
		return named(w, "agent", &appsv1.StatefulSet{
			TypeMeta: typeMeta("apps/v1", "StatefulSet"), Spec: appsv1.StatefulSetSpec{Selector: d.Spec.Selector, Template: d.Spec.Template},
		})
	}, func(w *world) {
		change(w, "agent", &appsv1.StatefulSet{}, func(s *appsv1.StatefulSet) {
			s.Spec.Replicas = ptr.To[int32](3)
			restart(&s.Spec.Template)
		})
	}, func(w *world) {
		s := there(w, "agent", &appsv1.StatefulSet{})
		w.Expect(s.Spec.Replicas).To(HaveValue(Equal(int32(3))))
		w.Expect(s.Spec.Template.Annotations).To(onlyRestarted)
		w.Expect(colorOf(&s.Spec.Template)).To(Equal("blue"))
	}),
	storyOf("the selector of a Job", func(w *world, text string) plugin.Object {
		j := named(w, "a", &batchv1.Job{TypeMeta: typeMeta("batch/v1", "Job"), Spec: jobTemplate()})
		j.Labels = map[string]string{"color": text}
		return j
	}, func(w *world) {
		change(w, "a", &batchv1.Job{}, func(j *batchv1.Job) { j.Annotations[hadAnnotation] = selectorOf(j) })
	}, func(w *world) {
		j := there(w, "a", &batchv1.Job{})
		w.Expect(j.Labels).To(HaveKeyWithValue("color", "blue"))
		w.Expect(selectorOf(j)).To(And(Not(BeEmpty()), Equal(j.Annotations[hadAnnotation])))
		w.Expect(j.Spec.Template.Labels).To(HaveKey(batchv1.ControllerUidLabel))
	}),
	storyOf("the status of a CronJob", func(w *world, text string) plugin.Object {
		return named(w, "a", &batchv1.CronJob{TypeMeta: typeMeta("batch/v1", "CronJob"), Spec: batchv1.CronJobSpec{
			Schedule:    map[string]string{"red": "0 1 * * *", "blue": "0 2 * * *"}[text],
			JobTemplate: batchv1.JobTemplateSpec{Spec: jobTemplate()},
		}})
	}, func(w *world) {
		c := there(w, "a", &batchv1.CronJob{})
		before := c.DeepCopy()
		c.Status.LastScheduleTime = ptr.To(metav1.Unix(0, 0))
		w.Expect(w.api.client.Status().Patch(w.ctx, c, client.MergeFrom(before))).To(Succeed())
	}, func(w *world) {
		c := there(w, "a", &batchv1.CronJob{})
		w.Expect(c.Spec.Schedule).To(Equal("0 2 * * *"))
		w.Expect(c.Status.LastScheduleTime).NotTo(BeNil())
	}),
}

func selectorOf(j *batchv1.Job) string { return metav1.FormatLabelSelector(j.Spec.Selector) }

func colorOf(template *corev1.PodTemplateSpec) string {
	return template.Spec.Containers[0].Env[0].Value
}
