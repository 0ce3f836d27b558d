// SPDX-License-Identifier: Apache-2.0

package managedresource

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	resourcesv1alpha1 "github.com/trellis-network/trellis/api/resources/v1alpha1"
	"github.com/trellis-network/trellis/test/contract"
)

// What the API server has allocated for a Service stays.
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
	// Another client made it before us, so all its fields are theirs.
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

// A port keeps its node port by its number, whatever its name becomes, and by
// its name, whatever its number becomes.
func TestNodePortsFollowTheirPorts(t *testing.T) {
	contract.Shows(t, "R13")
	e := newEnv(t)
	e.state("network", e.service(corev1.ServiceTypeNodePort,
		corev1.ServicePort{Name: "renamed", Port: 80}, corev1.ServicePort{Name: "renumbered", Port: 81}, corev1.ServicePort{Name: "stated", Port: 82}))
	e.operator()
	e.becomesGood("network")
	before := live(e, e.service(""))

	after := e.service(corev1.ServiceTypeNodePort,
		corev1.ServicePort{Name: "other", Port: 80}, corev1.ServicePort{Name: "renumbered", Port: 91},
		corev1.ServicePort{Name: "stated", Port: 82, NodePort: 32123})
	e.state("network", after)
	e.becomesGood("network")
	now := live(e, after)
	e.Expect(now.Spec.Ports[0].NodePort).To(Equal(before.Spec.Ports[0].NodePort))
	e.Expect(now.Spec.Ports[1].Port).To(BeEquivalentTo(91))
	e.Expect(now.Spec.Ports[1].NodePort).To(Equal(before.Spec.Ports[1].NodePort))
	e.Expect(now.Spec.Ports[2].NodePort).To(BeEquivalentTo(32123))

	e.state("network", e.service(corev1.ServiceTypeClusterIP, corev1.ServicePort{Name: "other", Port: 80}))
	e.Eventually(func() int32 { return live(e, after).Spec.Ports[0].NodePort }).Should(BeZero())
	e.becomesGood("network")
}

// The address that a Service has got counts, not a stated one; a Service that
// is to have none cannot be updated.
func TestServicesKeepTheirAddress(t *testing.T) {
	contract.Shows(t, "R13")
	e := newEnv(t)
	port := corev1.ServicePort{Port: 80}
	e.state("network", e.service(corev1.ServiceTypeClusterIP, port))
	e.operator()
	e.becomesGood("network")
	before := live(e, e.service(""))

	stated := e.service(corev1.ServiceTypeClusterIP, port)
	stated.Spec.ClusterIP = neighbour(before.Spec.ClusterIP)
	stated.Spec.ClusterIPs = []string{stated.Spec.ClusterIP}
	stated.Labels = map[string]string{"later": "yes"}
	e.state("network", stated)
	e.Eventually(func() map[string]string { return live(e, stated).Labels }).Should(HaveKey("later"))
	e.becomesGood("network")
	e.Expect(live(e, stated).Spec.ClusterIP).To(Equal(before.Spec.ClusterIP))

	headless := e.service(corev1.ServiceTypeClusterIP, port)
	headless.Spec.ClusterIP = corev1.ClusterIPNone
	e.state("network", headless)
	e.Eventually(e.conditions("network")).Should(HaveKeyWithValue("ResourcesApplied", "False ApplyFailed"))
	headless.Annotations = map[string]string{resourcesv1alpha1.DeleteOnInvalidUpdate: "true"}
	e.state("network", headless)
	e.becomesGood("network")
	e.Expect(live(e, headless).Spec.ClusterIP).To(Equal(corev1.ClusterIPNone))
}

// neighbour returns another address of the same range.
func neighbour(address string) string {
	last := address[len(address)-1]
	if last == '9' {
		return address[:len(address)-1] + "8"
	}
	return address[:len(address)-1] + string(last+1)
}

// With forceOverwriteAnnotations others' annotations go, but for those by which
// a load balancer is known.
func TestForcedAnnotations(t *testing.T) {
	contract.Shows(t, "R10")
	e := newEnv(t)
	s := e.service(corev1.ServiceTypeClusterIP, corev1.ServicePort{Port: 80})
	e.state("network", s)
	e.operator()
	e.becomesGood("network")
	change(e, s, func(s *corev1.Service) {
		s.Annotations["theirs"], s.Annotations["loadbalancer.example.org/id"] = "yes", "1"
	})
	e.edit("network", func(mr *resourcesv1alpha1.ManagedResource) { mr.Spec.ForceOverwriteAnnotations = ptr.To(true) })
	change(e, s, func(s *corev1.Service) { s.Annotations["more"] = "yes" })
	e.Eventually(func() map[string]string { return live(e, s).Annotations }).Should(And(
		HaveKeyWithValue("loadbalancer.example.org/id", "1"), HaveKey(resourcesv1alpha1.Origin),
		Not(HaveKey("theirs")), Not(HaveKey("more"))))
}
