// SPDX-License-Identifier: Apache-2.0

package managedresource

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trellis-network/trellis/test/contract"
)

// The operator keeps what the API server has allocated for a Service.
func TestServicesKeepWhatWasAllocated(t *testing.T) {
	contract.Shows(t, "R13")
	e := newEnv(t)
	service := &corev1.Service{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Service"},
		ObjectMeta: metav1.ObjectMeta{Namespace: e.namespace, Name: "s"},
		Spec: corev1.ServiceSpec{
			Type: corev1.ServiceTypeNodePort, Selector: map[string]string{"app": "x"},
			Ports: []corev1.ServicePort{{Name: "http", Port: 80}},
		},
	}
	// Another client has created it, and owns all its fields.
	e.Expect(e.shoot.Create(e.ctx, service.DeepCopy(), client.FieldOwner("kubectl-create"))).To(Succeed())
	before := live(e, service)
	service.Spec.Ports[0].TargetPort = intstr.FromInt32(8080)
	e.state("network", service)
	e.operator()
	e.becomesGood("network")
	now := live(e, service)
	e.Expect(now.Spec.ClusterIP).To(Equal(before.Spec.ClusterIP))
	e.Expect(now.Spec.Ports[0].NodePort).To(Equal(before.Spec.Ports[0].NodePort))
	e.Expect(now.Spec.Ports[0].TargetPort.IntValue()).To(Equal(8080))
}

func (e *env) service(kind corev1.ServiceType, ports ...corev1.ServicePort) *corev1.Service {
	return &corev1.Service{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Service"},
		ObjectMeta: metav1.ObjectMeta{Namespace: e.namespace, Name: "s"},
		Spec:       corev1.ServiceSpec{Type: kind, Selector: map[string]string{"app": "x"}, Ports: ports},
	}
}

// A port keeps its node port, whatever its name becomes.
func TestNodePortsFollowTheirPorts(t *testing.T) {
	contract.Shows(t, "R13")
	e := newEnv(t)
	e.state("network", e.service(corev1.ServiceTypeNodePort,
		corev1.ServicePort{Name: "renamed", Port: 80}, corev1.ServicePort{Name: "stated", Port: 82}))
	e.operator()
	e.becomesGood("network")
	before := live(e, e.service(""))

	after := e.service(corev1.ServiceTypeNodePort,
		corev1.ServicePort{Name: "other", Port: 80}, corev1.ServicePort{Name: "stated", Port: 82, NodePort: 32123})
	e.state("network", after)
	e.becomesGood("network")
	now := live(e, after)
	e.Expect(now.Spec.Ports[0].NodePort).To(Equal(before.Spec.Ports[0].NodePort))
	e.Expect(now.Spec.Ports[1].NodePort).To(BeEquivalentTo(32123))

	e.state("network", e.service(corev1.ServiceTypeClusterIP, corev1.ServicePort{Name: "other", Port: 80}))
	e.Eventually(func() int32 { return live(e, after).Spec.Ports[0].NodePort }).Should(BeZero())
	e.becomesGood("network")
}
