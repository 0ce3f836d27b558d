// SPDX-License-Identifier: Apache-2.0

package shoot_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/internal/controller/shoot"
	"github.com/trellis-network/trellis/test/harness"
)

func noType(string) bool { return false }

// Another operator has a plugin for the type of the Shoot.
func TestAShootOfAnotherOperatorIsLeftAlone(t *testing.T) {
	e := project(t)
	e.namespace(e.controlPlane, map[string]string{shoot.ShootAnnotation: e.project + "/example"})
	harness.Change(t, e.client, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: e.controlPlane}}, func(n *corev1.Namespace) {
		metav1.SetMetaDataLabel(&n.ObjectMeta, shoot.OperatorLabel, "another")
	})
	longAgo := clocktesting.NewFakePassiveClock(time.Now().Add(time.Hour))
	e.stop = e.run(&e.requests.Requests, func(mgr manager.Manager) error {
		return shoot.Add(mgr, shoot.Options{Operator: "this", Serves: noType, Clock: longAgo})
	})
	s := e.shoot()
	e.client.Stays(t, s, time.Second)
	e.Expect(e.requests.Writes()).To(BeEmpty())
}

// Other operators get a moment to take a Shoot of a type that has no plugin here. Then this
// operator takes it, so that its user is told.
func TestAShootThatNoOperatorTakesIsTaken(t *testing.T) {
	e := project(t)
	now := clocktesting.NewFakePassiveClock(time.Now())
	e.stop = e.run(&e.requests.Requests, func(mgr manager.Manager) error {
		return shoot.Add(mgr, shoot.Options{Operator: "this", Serves: noType, Clock: now})
	})
	s := e.shoot()
	e.client.Stays(t, s, time.Second)
	now.SetTime(s.CreationTimestamp.Add(11 * time.Second))
	harness.Change(t, e.client, s, func(s *corev1beta1.Shoot) { metav1.SetMetaDataAnnotation(&s.ObjectMeta, "a", "change") })
	e.Eventually(func() []string {
		e.Expect(e.client.Get(t.Context(), client.ObjectKeyFromObject(s), s)).To(Succeed())
		return s.Finalizers
	}).Should(ContainElement("gardener"))
}

// The label of the control plane tells other operators whose it is. An operator with a plugin for
// the type takes the control plane over from one without.
func TestAnOperatorTakesOverAControlPlaneOfItsTypes(t *testing.T) {
	e := project(t)
	start := func(operator string) {
		e.stop()
		e.stop = e.run(&e.requests.Requests, func(mgr manager.Manager) error { return shoot.Add(mgr, shoot.Options{Operator: operator}) })
	}
	operatorOf := func() string { return shoot.OperatorOf(t.Context(), e.client, e.controlPlane) }
	start("former")
	e.shoot()
	e.Eventually(operatorOf).Should(Equal("former"))
	start("present")
	e.Eventually(operatorOf).Should(Equal("present"))
}

// Two operators with plugins for one type do not take a control plane from each other without end:
// the last one keeps it, and users are told.
func TestOfTwoOperatorsWithOneTypeTheLastKeepsTheShoot(t *testing.T) {
	e := project(t)
	start := func(operator string, requests *harness.Requests) {
		t.Cleanup(e.run(requests, func(mgr manager.Manager) error { return shoot.Add(mgr, shoot.Options{Operator: operator}) }))
	}
	first := &harness.Requests{}
	operatorOf := func() string { return shoot.OperatorOf(t.Context(), e.client, e.controlPlane) }
	start("first", first)
	s := e.shoot()
	e.becomes(s, create, failing)
	e.Expect(operatorOf()).To(Equal("first"))
	start("second", nil)
	e.announces("Warning OperatorConflict", `The operators first and second have networks of the type "example", which only one of them may have. second has this Shoot now`)
	first.Forget()
	e.kubeconfig(kubeconfig)
	e.becomes(s, create, processing)
	e.client.Stays(t, s, time.Second)
	e.Expect(operatorOf()).To(Equal("second"))
	e.Expect(first.Writes()).To(BeEmpty())

	harness.Change(t, e.client, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: e.controlPlane}}, func(n *corev1.Namespace) {
		delete(n.Labels, shoot.OperatorLabel)
	})
	e.Eventually(operatorOf).ShouldNot(BeEmpty(), "one of them takes it")
}

// A Network whose type no operator has is refused without a look at the Shoot, and its user is told
// nevertheless, also after an edit of the Shoot.
func TestAnUnknownTypeIsAnErrorOfTheShoot(t *testing.T) {
	e := setup(t)
	e.kubeconfig(kubeconfig)
	s := e.shoot()
	n := e.network()
	e.appears(n)
	harness.ChangeStatus(t, e.client, n, func(n *extensionsv1alpha1.Network) {
		n.Status.ObservedGeneration = n.Generation
		n.Status.State = &runtime.RawExtension{Raw: []byte("{}")}
		n.Status.LastOperation = &corev1beta1.LastOperation{Type: create, State: failing, Description: `spec.type: Unsupported value: "example"`, LastUpdateTime: metav1.Now()}
	})
	e.becomes(s, create, failing, `spec.networking.type: Unsupported value: "example"`)
	patch(e, s, func(s *corev1beta1.Shoot) { s.Spec.Kubernetes.Version = "1.33.2" })
	e.becomes(s, create, failing, `spec.networking.type: Unsupported value: "example"`)
}
