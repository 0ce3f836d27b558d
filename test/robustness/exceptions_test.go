// SPDX-License-Identifier: Apache-2.0

package robustness

import (
	"fmt"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/trellis-network/trellis/plugin"
)

type appsv1Deployment = appsv1.Deployment

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

// selecting is a Deployment whose selector cannot be updated.
func selecting(w *world, app string) *appsv1.Deployment {
	d := deployment(w, "red")
	d.Spec.Selector.MatchLabels, d.Spec.Template.Labels = map[string]string{"app": app}, map[string]string{"app": app}
	return annotated(d, "resources.gardener.cloud/delete-on-invalid-update=true")
}

func requests(cpu string) corev1.ResourceList {
	return corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)}
}

func scale(w *world) {
	change(w, "agent", &appsv1.Deployment{}, func(d *appsv1.Deployment) { d.Spec.Replicas = ptr.To[int32](3) })
}

func resize(w *world) {
	change(w, "agent", &appsv1.Deployment{}, func(d *appsv1.Deployment) {
		d.Spec.Template.Spec.Containers[0].Resources.Requests = requests("70m")
	})
}

func service(kind corev1.ServiceType) func(w *world, text string) plugin.Object {
	return func(w *world, text string) plugin.Object {
		return named(w, "agent", &corev1.Service{
			TypeMeta: typeMeta("v1", "Service"),
			Spec: corev1.ServiceSpec{
				Type: kind, Selector: map[string]string{"app": text},
				Ports: []corev1.ServicePort{{Name: "http", Port: 80, TargetPort: intstr.FromInt32(80)}},
			},
		})
	}
}

// hadAnnotation is where a test notes what a Service was allocated.
const hadAnnotation = "example.org/had"

// allocated notes what a Service has got, in an annotation of others, which stays.
func allocated(w *world) {
	change(w, "agent", &corev1.Service{}, func(s *corev1.Service) {
		metav1.SetMetaDataAnnotation(&s.ObjectMeta, hadAnnotation, had(s))
	})
}

func had(s *corev1.Service) string {
	return fmt.Sprint(s.Spec.ClusterIP, " ", s.Spec.Ports[0].NodePort)
}

var exceptionStories = []*story{
	storyOf("labels and annotations of users", func(w *world, text string) plugin.Object { return content(w, "a", text) }, func(w *world) {
		change(w, "a", &corev1.ConfigMap{}, func(cm *corev1.ConfigMap) {
			metav1.SetMetaDataLabel(&cm.ObjectMeta, "example.org/theirs", "yes")
			metav1.SetMetaDataAnnotation(&cm.ObjectMeta, "example.org/theirs", "yes")
			cm.Finalizers = append(cm.Finalizers, "example.org/theirs")
			cm.Data["theirs"] = "yes"
		})
	}, func(w *world) {
		cm := there(w, "a", &corev1.ConfigMap{})
		w.Expect(cm.Labels).To(HaveKeyWithValue("example.org/theirs", "yes"))
		w.Expect(cm.Annotations).To(HaveKeyWithValue("example.org/theirs", "yes"))
		w.Expect(cm.Finalizers).To(ConsistOf("example.org/theirs"))
		w.Expect(cm.Data).To(Equal(map[string]string{"content": "blue"}), "a field of theirs is none of the exceptions")
		w.Expect(managers(cm, "f:content")).To(Equal([]string{"trellis"}))
	}),
	storyOf("replicas that are not stated", func(w *world, text string) plugin.Object { return deployment(w, text) }, scale, func(w *world) {
		d := there(w, "agent", &appsv1.Deployment{})
		w.Expect(d.Spec.Replicas).To(HaveValue(Equal(int32(3))))
		w.Expect(d.Spec.Template.Spec.Containers[0].Env[0].Value).To(Equal("blue"))
	}),
	{
		name: "replicas that are stated",
		first: func(w *world) []plugin.Object {
			d := deployment(w, "red")
			d.Spec.Replicas = zero
			return objects(d)
		},
		then: scale,
		second: func(w *world) []plugin.Object {
			d := deployment(w, "blue")
			d.Spec.Replicas = zero
			return objects(d)
		},
		check: func(w *world) {
			w.Expect(there(w, "agent", &appsv1.Deployment{}).Spec.Replicas).To(HaveValue(Equal(int32(0))))
		},
	},
	storyOf("restartedAt", func(w *world, text string) plugin.Object { return daemonSet(w.run, text) }, func(w *world) {
		change(w, "agent", &appsv1.DaemonSet{}, func(d *appsv1.DaemonSet) {
			d.Spec.Template.Annotations = map[string]string{
				"kubectl.kubernetes.io/restartedAt": "now", "example.org/theirs": "yes",
			}
		})
	}, func(w *world) {
		d := there(w, "agent", &appsv1.DaemonSet{})
		w.Expect(d.Spec.Template.Annotations).To(Equal(map[string]string{"kubectl.kubernetes.io/restartedAt": "now"}))
	}),
	storyOf("resources that are not to be preserved", func(w *world, text string) plugin.Object {
		d := deployment(w, text)
		d.Spec.Template.Spec.Containers[0].Resources.Requests = requests("10m")
		return d
	}, resize, func(w *world) {
		d := there(w, "agent", &appsv1.Deployment{})
		w.Expect(d.Spec.Template.Spec.Containers[0].Resources.Requests.Cpu().String()).To(Equal("10m"))
	}),
	storyOf("what a Service was allocated", service(corev1.ServiceTypeNodePort), allocated, func(w *world) {
		s := there(w, "agent", &corev1.Service{})
		w.Expect(had(s)).To(Equal(s.Annotations[hadAnnotation]))
		w.Expect(s.Spec.Selector).To(HaveKeyWithValue("app", "blue"))
	}),
	storyOf("the address of a Service", service(corev1.ServiceTypeClusterIP), allocated, func(w *world) {
		s := there(w, "agent", &corev1.Service{})
		w.Expect(had(s)).To(Equal(s.Annotations[hadAnnotation]))
	}),
	storyOf("Secrets of a ServiceAccount", func(w *world, text string) plugin.Object {
		account := named(w, "a", &corev1.ServiceAccount{TypeMeta: typeMeta("v1", "ServiceAccount")})
		account.Labels = map[string]string{"color": text}
		return account
	}, func(w *world) {
		change(w, "a", &corev1.ServiceAccount{}, func(a *corev1.ServiceAccount) {
			a.Secrets = []corev1.ObjectReference{{Name: "theirs"}}
			a.ImagePullSecrets = []corev1.LocalObjectReference{{Name: "theirs"}}
		})
	}, func(w *world) {
		a := there(w, "a", &corev1.ServiceAccount{})
		w.Expect(a.Secrets).To(HaveLen(1))
		w.Expect(a.ImagePullSecrets).To(HaveLen(1))
		w.Expect(a.Labels).To(HaveKeyWithValue("color", "blue"))
	}),
}
