// SPDX-License-Identifier: Apache-2.0

package network_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	resourcesv1alpha1 "github.com/trellis-network/trellis/api/resources/v1alpha1"
	"github.com/trellis-network/trellis/test/contract"
)

// held makes the ManagedResource wait for a resource manager to let go of it.
func (e *env) held() *resourcesv1alpha1.ManagedResource {
	return e.holding(e.managedResource())
}

func (e *env) holding(mr *resourcesv1alpha1.ManagedResource) *resourcesv1alpha1.ManagedResource {
	before := mr.DeepCopy()
	controllerutil.AddFinalizer(mr, "resources.gardener.cloud/gardener-resource-manager")
	e.Expect(e.client.Patch(e.t.Context(), mr, client.MergeFrom(before))).To(Succeed())
	return mr
}

func (e *env) letGo(mr *resourcesv1alpha1.ManagedResource) {
	e.get(mr)
	before := mr.DeepCopy()
	mr.Finalizers = nil
	e.Expect(e.client.Patch(e.t.Context(), mr, client.MergeFrom(before))).To(Succeed())
}

func (e *env) gone(object client.Object) {
	e.t.Helper()
	e.Eventually(func() bool {
		return apierrors.IsNotFound(e.client.Get(e.t.Context(), keyOf(object), object))
	}).Should(BeTrue())
}

// Secrets and ManagedResource go first, the Network after them.
func TestADeletedNetworkWaitsForItsObjects(t *testing.T) {
	contract.Shows(t, "N13", "N31")
	modes(t, func(t *testing.T, e *env, asked func(*extensionsv1alpha1.Network)) {
		n := e.finished(asked)
		mr := e.held()
		e.Expect(e.client.Delete(t.Context(), n)).To(Succeed())
		e.becomes(n, deleting, working)
		e.Expect(n.Status.LastOperation.Description).To(Equal("Deleting the Network"))
		e.Eventually(func() bool { e.get(mr); return mr.DeletionTimestamp.IsZero() }).Should(BeFalse())
		secrets := &corev1.SecretList{}
		e.Eventually(func() []corev1.Secret {
			e.Expect(e.client.List(t.Context(), secrets, client.InNamespace(e.namespace))).To(Succeed())
			return secrets.Items
		}).Should(BeEmpty())
		e.Expect(n.Finalizers).NotTo(BeEmpty())
		e.letGo(mr)
		e.gone(n)
	})
}

func TestADeletedNetworkWithoutOurFinalizerIsNotOurs(t *testing.T) {
	contract.Shows(t, "N14")
	e := setup(t)
	e.stop()
	n := e.network(func(n *extensionsv1alpha1.Network) { n.Finalizers = []string{"example.org/another"} })
	e.Expect(e.client.Delete(t.Context(), n)).To(Succeed())
	e.restart()
	e.stays(n)
	e.Expect(n.Status.LastOperation).To(BeNil())
}

// In a landscape, a change by another controller of a Network that is being deleted is no
// reason to reconcile it again; a request is.
func TestInGardenerADeletionIsLookedAtWhenAsked(t *testing.T) {
	contract.Shows(t, "N20")
	e := setup(t, inGardener)
	n := e.finished(asking("reconcile"))
	mr := e.held()
	e.Expect(e.client.Delete(t.Context(), n)).To(Succeed())
	e.Eventually(func() bool { e.get(mr); return mr.DeletionTimestamp.IsZero() }).Should(BeFalse())
	e.stays(n)

	e.Eventually(func() []string { // the last run may still be looking at the ManagedResource
		e.requests.Forget()
		e.Expect(reportHealth(t.Context(), e.client, n)).To(Succeed())
		e.stays(n)
		return e.requests.All()
	}).Should(BeEmpty())

	e.patch(n, func(n *extensionsv1alpha1.Network) {
		metav1.SetMetaDataAnnotation(&n.ObjectMeta, extensionsv1alpha1.TimestampAnnotation, time.Now().UTC().Format(time.RFC3339Nano))
	})
	e.Eventually(e.requests.All).ShouldNot(BeEmpty())
	e.letGo(mr)
	e.gone(n)
}

// The Shoot may say so before or while its Network is deleted.
func TestForcedDeletionWaitsForNothingInTheShoot(t *testing.T) {
	contract.Shows(t, "N15")
	force := func(s *corev1beta1.Shoot) {
		s.Annotations = map[string]string{extensionsv1alpha1.ForceDeletionAnnotation: "true"}
	}
	modes(t, func(t *testing.T, e *env, asked func(*extensionsv1alpha1.Network)) {
		n := e.finished(asked)
		mr := e.held()
		e.cluster(force)
		e.Expect(e.client.Delete(t.Context(), n)).To(Succeed())
		e.gone(n)
		e.letGo(mr)
		e.gone(mr)

		e.cluster(func(*corev1beta1.Shoot) {})
		n = e.finished(asked)
		mr = e.held()
		e.Expect(e.client.Delete(t.Context(), n)).To(Succeed())
		e.becomes(n, deleting, working)
		e.Eventually(func() bool { e.get(mr); return mr.DeletionTimestamp.IsZero() }).Should(BeFalse())
		e.cluster(force)
		e.gone(n)
		e.letGo(mr)
	})
}

// A ManagedResource that a user deletes while its Network stays has to go before there
// can be another one. What keeps it is told, once it has for long.
func TestAManagedResourceThatDoesNotGoIsAnError(t *testing.T) {
	modes(t, func(t *testing.T, e *env, asked func(*extensionsv1alpha1.Network)) {
		n := e.finished(asked)
		mr := e.held()
		e.resourceManager("Progressing", "DeletionPending", "ConfigMap kube-system/example has the finalizer example.org/no", time.Now())
		e.Expect(e.client.Delete(t.Context(), mr)).To(Succeed())
		e.patch(n, func(n *extensionsv1alpha1.Network) { asked(n); withConfig(`{"backend":"none"}`)(n) })
		e.Eventually(func() string { e.get(n); return string(n.Status.State.Raw) }).Should(ContainSubstring(`"providerConfig":{"backend":"none"}`))
		e.becomes(n, again, erroneous) // which standalone it may have been before the patch
		e.Expect(n.Status.LastError.Description).To(And(HavePrefix("Error reconciling Network: "), HaveSuffix("has the finalizer example.org/no")))
		e.Expect(n.Status.LastError.Codes).To(ConsistOf(corev1beta1.ErrorCleanupClusterResources))
		e.stays(n)
		e.letGo(mr)
		e.Eventually(e.written).Should(Equal("none"))
		e.applied()
		e.becomes(n, again, fine)
	}, at(clocktesting.NewFakePassiveClock(time.Now().Add(time.Hour))))
}

// Invariant 6: what the user wrote is not looked at any more.
func TestAnInvalidNetworkCanBeDeleted(t *testing.T) {
	e := setup(t)
	n := e.finished()
	mr := e.managedResource()
	e.patch(n, withConfig(`{"backend":"unknown","no such":"field"}`))
	e.becomes(n, again, erroneous)
	e.Expect(e.client.Delete(t.Context(), n)).To(Succeed())
	e.gone(n)
	e.gone(mr)
}

// The user who waits for a deletion is told what keeps it.
func TestADeletionThatTakesLongSaysWhy(t *testing.T) {
	contract.Shows(t, "N36")
	later := clocktesting.NewFakePassiveClock(time.Now().Add(time.Hour))
	e := setup(t, at(later))
	n := e.finished()
	mr := e.held()
	e.resourceManager("Progressing", "DeletionPending", "ConfigMap kube-system/example has the finalizer example.org/no", time.Now())
	e.Expect(e.client.Delete(t.Context(), n)).To(Succeed())
	e.becomes(n, deleting, erroneous)
	e.Expect(n.Status.LastError.Description).To(And(HavePrefix("Error deleting Network: "), HaveSuffix("has the finalizer example.org/no")))
	e.Expect(n.Status.LastError.Codes).To(ConsistOf(corev1beta1.ErrorCleanupClusterResources))
	e.letGo(mr)
	e.gone(n)
}
