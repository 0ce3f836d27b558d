// SPDX-License-Identifier: Apache-2.0

package robustness

import (
	"fmt"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trellis-network/trellis/plugin"
)

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

// balanced returns a Service for a cloud provider's load balancer. The text is the name of its
// port.
func balanced(w *world, text string) plugin.Object {
	s := service(corev1.ServiceTypeLoadBalancer)(w, text).(*corev1.Service)
	s.Spec.ExternalTrafficPolicy = corev1.ServiceExternalTrafficPolicyLocal
	s.Spec.Ports[0].Name = text
	return s
}

// hadAnnotation is the annotation in which a test records the fields that were allocated.
const hadAnnotation = "example.org/had"

// allocated records the allocated fields of a Service in an annotation. Trellis must keep this
// annotation, since another client has set it.
func allocated(w *world) {
	change(w, "agent", &corev1.Service{}, func(s *corev1.Service) {
		metav1.SetMetaDataAnnotation(&s.ObjectMeta, hadAnnotation, had(s))
	})
}

func had(s *corev1.Service) string {
	return fmt.Sprint(s.Spec.ClusterIP, " ", s.Spec.Ports[0].NodePort, " ", s.Spec.HealthCheckNodePort, " ", s.Spec.LoadBalancerIP)
}

// balance does what a cloud provider does for a Service.
func balance(w *world) {
	change(w, "agent", &corev1.Service{}, func(s *corev1.Service) {
		s.Spec.LoadBalancerIP, s.Annotations[loadBalancers] = "192.0.2.1", "1"
	})
	s := there(w, "agent", &corev1.Service{})
	before := s.DeepCopy()
	s.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: "192.0.2.1"}}
	w.Expect(w.api.client.Status().Patch(w.ctx, s, client.MergeFrom(before))).To(Succeed())
	allocated(w)
}

// The fields of Services and ServiceAccounts that Trellis keeps (Gardener contract, R13, R30).
var serviceStories = []*story{
	storyOf("the address of a Service", service(corev1.ServiceTypeClusterIP), allocated, func(w *world) {
		s := there(w, "agent", &corev1.Service{})
		w.Expect(had(s)).To(Equal(s.Annotations[hadAnnotation]))
	}),
	storyOf("the ports of a Service", service(corev1.ServiceTypeNodePort), allocated, func(w *world) {
		s := there(w, "agent", &corev1.Service{})
		w.Expect(had(s)).To(Equal(s.Annotations[hadAnnotation]))
		w.Expect(s.Spec.Selector).To(HaveKeyWithValue("app", "blue"))
	}),
	storyOf("the load balancer of a Service", balanced, balance, func(w *world) {
		s := there(w, "agent", &corev1.Service{})
		w.Expect(s.Spec.HealthCheckNodePort).NotTo(BeZero())
		w.Expect(s.Spec.LoadBalancerIP).To(Equal("192.0.2.1"))
		w.Expect(had(s)).To(Equal(s.Annotations[hadAnnotation]))
		w.Expect(s.Annotations).To(HaveKeyWithValue(loadBalancers, "1"))
		w.Expect(s.Status.LoadBalancer.Ingress).To(HaveLen(1))
		w.Expect(s.Spec.Ports[0].Name).To(Equal("blue"))
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
