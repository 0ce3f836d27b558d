// SPDX-License-Identifier: Apache-2.0

package shoot_test

import (
	"context"
	"fmt"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	resourcesv1alpha1 "github.com/trellis-network/trellis/api/resources/v1alpha1"
)

const accessFinalizer = "trellis.network/access"

// isDeleted waits until an object is being deleted that has a finalizer.
func (e *env) isDeleted(object client.Object) {
	e.t.Helper()
	e.Eventually(func() bool { e.get(object); return object.GetDeletionTimestamp().IsZero() }).Should(BeFalse())
}

// deleteNamespace deletes the control-plane namespace by hand.
func (e *env) deleteNamespace() types.UID {
	e.t.Helper()
	namespace := e.controlPlaneNamespace()
	e.get(namespace)
	e.Expect(e.client.Delete(e.t.Context(), namespace)).To(Succeed())
	return namespace.UID
}

// When a user deletes the namespace, Kubernetes deletes its Secrets immediately and
// refuses new ones. The access stays while something needs it, then the namespace goes,
// and the controller creates everything again.
func TestADeletedNamespaceIsTakenDownInOrderAndComesBack(t *testing.T) {
	e := setup(t)
	s := e.finished()
	n, managed, access := e.holdNetwork(), e.holdPrerequisites(), e.access()
	e.get(access)
	e.Expect(access.Finalizers).To(ConsistOf(accessFinalizer))
	before := e.deleteNamespace()
	for _, object := range []client.Object{n, managed, access} {
		e.isDeleted(object)
	}
	e.becomes(s, reconcile, processing, "Waiting until the Network "+e.controlPlane+"/example is gone")
	e.announces("Warning NetworkRemoved", e.controlPlane)
	e.get(access)

	patch(e, n, func(n *extensionsv1alpha1.Network) { n.Finalizers = nil })
	e.gone(n)
	e.stays(access)
	patch(e, managed, func(m *resourcesv1alpha1.ManagedResource) { m.Finalizers = nil })
	e.Eventually(func() bool {
		namespace := e.controlPlaneNamespace()
		err := e.client.Get(context.Background(), keyOf(namespace), namespace)
		return err == nil && namespace.UID != before
	}).Should(BeTrue())
	e.applied()
	e.networkSays(succeeded, func(*extensionsv1alpha1.Network) {})
	e.becomes(s, reconcile, succeeded)
	e.get(access)
	e.Expect(access.Finalizers).To(ConsistOf(accessFinalizer))
	e.Expect(access.DeletionTimestamp).To(BeNil())
}

// A kubeconfig that is replaced meanwhile is taken over: what is in the shoot may
// not be deletable with the old one.
func TestTheAccessIsKeptUpToDateWhileTheNamespaceGoes(t *testing.T) {
	e := setup(t)
	e.finished()
	n, access := e.holdNetwork(), e.access()
	e.deleteNamespace()
	e.isDeleted(access)
	rotated := kubeconfig + "\n"
	e.kubeconfig(rotated)
	e.Eventually(func() string { e.get(access); return string(access.Data["kubeconfig"]) }).Should(Equal(rotated))
	e.Expect(access.Finalizers).To(ConsistOf(accessFinalizer))
	patch(e, n, func(n *extensionsv1alpha1.Network) { n.Finalizers = nil })
}

// In either order, and whatever the user has deleted besides, nothing is left.
func TestAShootIsDeletedWhileItsNamespaceGoes(t *testing.T) {
	for name, order := range map[string]func(e *env, shoot client.Object){
		"the namespace first": func(e *env, shoot client.Object) {
			e.deleteNamespace()
			e.Expect(e.client.Delete(e.t.Context(), shoot)).To(Succeed())
		},
		"the Shoot first": func(e *env, shoot client.Object) {
			e.Expect(e.client.Delete(e.t.Context(), shoot)).To(Succeed())
			e.deleteNamespace()
		},
		"the kubeconfig first, then the namespace": func(e *env, shoot client.Object) {
			secret := &corev1.Secret{}
			secret.Namespace, secret.Name = e.project, "example.kubeconfig"
			e.Expect(e.client.Delete(e.t.Context(), secret)).To(Succeed())
			e.deleteNamespace()
			e.Expect(e.client.Delete(e.t.Context(), shoot)).To(Succeed())
		},
	} {
		t.Run(name, func(t *testing.T) {
			e := setup(t)
			s := e.finished()
			n, managed, access := e.holdNetwork(), e.holdPrerequisites(), e.access()
			order(e, s)
			e.isDeleted(n)
			patch(e, n, func(n *extensionsv1alpha1.Network) { n.Finalizers = nil })
			e.isDeleted(managed)
			e.get(access)
			patch(e, managed, func(m *resourcesv1alpha1.ManagedResource) { m.Finalizers = nil })
			e.gone(s)
			e.gone(e.cluster())
			e.gone(e.controlPlaneNamespace())
		})
	}
}

// A copy that a user deletes stays in use: without it, what is in the shoot could not be
// deleted if the namespace went as well.
func TestADeletedAccessStaysInUse(t *testing.T) {
	e := setup(t)
	s := e.finished()
	access := e.access()
	e.Expect(e.client.Delete(t.Context(), access)).To(Succeed())
	e.isDeleted(access)
	e.stays(access)
	rotated := kubeconfig + "\n"
	e.kubeconfig(rotated)
	e.Eventually(func() string { e.get(access); return string(access.Data["kubeconfig"]) }).Should(Equal(rotated))
	e.becomes(s, create, succeeded)
	e.Expect(e.client.Delete(t.Context(), s)).To(Succeed())
	e.gone(s)
	e.gone(e.controlPlaneNamespace())
}

// A user who removes the finalizer from a Shoot leaves its control plane behind, and can
// delete that by hand.
func TestTheNamespaceOfAnAbandonedShootCanBeDeleted(t *testing.T) {
	e := setup(t)
	s := e.finished()
	n := e.holdNetwork()
	e.Expect(e.client.Delete(t.Context(), s)).To(Succeed())
	patch(e, s, func(s *corev1beta1.Shoot) { s.Finalizers = nil })
	e.gone(s)
	e.deleteNamespace()
	e.isDeleted(e.access())
	patch(e, n, func(n *extensionsv1alpha1.Network) { n.Finalizers = nil })
	e.gone(e.controlPlaneNamespace())
	e.Expect(e.client.Delete(t.Context(), e.cluster())).To(Succeed())
}

// Invariant 6, for a namespace that a user deletes.
func TestADeathWhileTheNamespaceGoesDoesNoHarm(t *testing.T) {
	const mostWrites = 6
	for k := 1; k <= mostWrites; k++ {
		t.Run(fmt.Sprintf("after write %d", k), func(t *testing.T) {
			e := project(t)
			violations := e.playOthers()
			e.kubeconfig(kubeconfig)
			e.start()
			s := e.shoot()
			e.becomes(s, create, succeeded)
			e.stop()
			before := e.deleteNamespace()
			e.dieAfter(k, func() {
				e.Eventually(func() bool {
					namespace := e.controlPlaneNamespace()
					err := e.client.Get(context.Background(), keyOf(namespace), namespace)
					return err == nil && namespace.UID != before
				}).Should(BeTrue())
				e.becomes(s, reconcile, succeeded)
			})
			e.Expect(e.finalState()).To(Equal(finished))
			e.Expect(violations()).To(BeEmpty())
		})
	}
}
