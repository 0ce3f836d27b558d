// SPDX-License-Identifier: Apache-2.0

package network_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/internal/condition"
)

// tellRoutes plays the controller of routes.
func (e *env) tellRoutes(n *extensionsv1alpha1.Network, status corev1beta1.ConditionStatus, message string) {
	e.t.Helper()
	told := corev1beta1.Condition{Type: extensionsv1alpha1.PodRoutesCreated, Status: status, Reason: "Told", Message: message}
	e.get(n)
	before := n.DeepCopy()
	n.Status.Conditions, _ = condition.Set(n.Status.Conditions, told, time.Now())
	e.Expect(e.client.Status().Patch(e.t.Context(), n, client.MergeFrom(before))).To(Succeed())
}

// Where the operator has been asked for routes, a network that would come to rely on them stays as
// it is until all nodes have theirs, also if the infrastructure refuses one, or until its owner does
// not want to wait.
func TestANetworkReliesOnRoutesOnceAllNodesHaveThem(t *testing.T) {
	for name, created := range map[string]bool{
		"all nodes have them": true, "at once": false,
	} {
		t.Run(name, func(t *testing.T) {
			modes(t, func(t *testing.T, e *env, asked func(*extensionsv1alpha1.Network)) {
				n := e.finished(asked)
				mr := e.managedResource()
				before := mr.Spec.SecretRefs
				refused := "Not all nodes have their routes: the route table has room for 50 routes."
				e.tellRoutes(n, corev1beta1.ConditionFalse, refused)
				e.patch(n, func(n *extensionsv1alpha1.Network) {
					metav1.SetMetaDataAnnotation(&n.ObjectMeta, extensionsv1alpha1.PodRoutesAnnotation, "true")
					withConfig(`{"backend":"native"}`)(n)
					asked(n)
				})
				e.becomes(n, again, erroneous)
				e.Expect(n.Status.LastError.Description).To(ContainSubstring("the network is not changed until all nodes have their routes, because without its overlay pods talk through them: " +
					"Not all nodes have their routes: the route table has room for 50 routes. The annotation trellis.network/transition: at-once makes the change without them"))
				e.get(mr)
				e.Expect(mr.Spec.SecretRefs).To(Equal(before))

				if created {
					e.tellRoutes(n, corev1beta1.ConditionTrue, "All nodes have their routes.")
				} else {
					e.patch(n, func(n *extensionsv1alpha1.Network) {
						metav1.SetMetaDataAnnotation(&n.ObjectMeta, extensionsv1alpha1.TransitionAnnotation, extensionsv1alpha1.TransitionAtOnce)
					})
				}
				e.Eventually(func() []corev1.LocalObjectReference { e.get(mr); return mr.Spec.SecretRefs }).ShouldNot(Equal(before))
				e.applied()
				e.becomes(n, again, fine)
			})
		})
	}
}

// A network whose owner has not asked for routes, and one that gets a tunnel, wait for nothing.
func TestOtherNetworksDoNotWaitForRoutes(t *testing.T) {
	for name, edit := range map[string]func(*extensionsv1alpha1.Network){
		"routes are not asked for": withConfig(`{"backend":"native"}`),
		"a tunnel": func(n *extensionsv1alpha1.Network) {
			metav1.SetMetaDataAnnotation(&n.ObjectMeta, extensionsv1alpha1.PodRoutesAnnotation, "true")
			withConfig(`{"backend":"tunnel"}`)(n)
		},
	} {
		t.Run(name, func(t *testing.T) {
			e := setup(t, inGardener)
			n := e.finished(asking("reconcile"))
			mr := e.managedResource()
			before := mr.Spec.SecretRefs
			e.patch(n, func(n *extensionsv1alpha1.Network) { edit(n); asking("reconcile")(n) })
			e.Eventually(func() []corev1.LocalObjectReference { e.get(mr); return mr.Spec.SecretRefs }).ShouldNot(Equal(before))
			e.applied()
			e.becomes(n, again, fine)
		})
	}
}
