// SPDX-License-Identifier: Apache-2.0

package network_test

import (
	"slices"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	resourcesv1alpha1 "github.com/trellis-network/trellis/api/resources/v1alpha1"
	"github.com/trellis-network/trellis/test/contract"
)

const (
	migrating = corev1beta1.LastOperationTypeMigrate
	restoring = corev1beta1.LastOperationTypeRestore
)

func TestANetworkWhoseStateIsBeingWrittenIsLeftAlone(t *testing.T) {
	contract.Shows(t, "N8")
	modes(t, func(t *testing.T, e *env, _ func(*extensionsv1alpha1.Network)) {
		n := e.network(asking("wait-for-state"))
		e.stays(n)
		e.patch(n, func(n *extensionsv1alpha1.Network) { metav1.SetMetaDataAnnotation(&n.ObjectMeta, "color", "blue") })
		e.stays(n)
		e.Expect(n.Finalizers).To(BeEmpty())
	})
}

// The bundles go and leave their objects in the shoot, but not in the
// seed; then the finalizers, also those of others, and the annotation last.
func TestAMigratedNetworkLeavesItsObjectsInTheShoot(t *testing.T) {
	contract.Shows(t, "N10", "N30")
	modes(t, func(t *testing.T, e *env, asked func(*extensionsv1alpha1.Network)) {
		n := e.finished(asked, withConfig(`{"extras":"two","monitoring":"left","admission":"big"}`))
		var held []*resourcesv1alpha1.ManagedResource
		for _, name := range []string{admissionName, laterName, mainName, seedName} {
			held = append(held, e.holding(e.managedResourceOf(name)))
		}
		e.patch(n, func(n *extensionsv1alpha1.Network) {
			n.Finalizers = append(n.Finalizers, "example.org/another")
			asking("migrate")(n)
		})
		e.becomes(n, migrating, working)
		e.Expect(n.Status.LastOperation.Description).To(Equal("Migrating the Network"))
		for _, mr := range held { // what needs others' objects goes first
			e.Eventually(func() bool { e.get(mr); return mr.DeletionTimestamp.IsZero() }).Should(BeFalse(), mr.Name)
			e.Expect(*mr.Spec.KeepObjects).To(Equal(mr.Name == mainName || mr.Name == laterName), mr.Name)
			e.letGo(mr)
		}
		e.becomes(n, migrating, fine)
		e.Expect(n.Status.LastOperation.Description).To(Equal("Successfully migrated Network"))
		e.Eventually(func() map[string]string { e.get(n); return n.Annotations }).ShouldNot(HaveKey(extensionsv1alpha1.OperationAnnotation))
		e.Expect(n.Finalizers).To(BeEmpty())
		e.Expect(n.Status.State).NotTo(BeNil(), "it moves along")
	})
}

// Gardenlet, which waits for Succeeded, may delete the Network at once.
func TestTheOrderOfAMigrationsWrites(t *testing.T) {
	contract.Shows(t, "N10")
	e := setup(t)
	n := e.finished()
	e.requests.Forget()
	e.patch(n, asking("migrate"))
	e.Eventually(func() map[string]string { e.get(n); return n.Annotations }).ShouldNot(HaveKey(extensionsv1alpha1.OperationAnnotation))
	path := "/apis/extensions.gardener.cloud/v1alpha1/namespaces/" + e.namespace + "/networks/example"
	var writes []string
	e.Eventually(func() []string { // a request is noted when its answer is read
		writes = nil
		for _, line := range e.requests.All() {
			if line == "PATCH "+path+" 200" || line == "PATCH "+path+"/status 200" {
				writes = append(writes, line)
			}
		}
		return writes
	}).Should(HaveLen(4), "%v", e.requests.All())
	e.Expect(slices.Index(writes, "PATCH "+path+" 200")).To(Equal(2), "both of the status come before finalizers and annotation")
}

// Invariant 5: who waits for a bundle to go writes nothing meanwhile.
func TestAMigrationThatWaitsWritesNothing(t *testing.T) {
	e := setup(t)
	n := e.finished()
	mr := e.held()
	e.patch(n, asking("migrate"))
	e.Eventually(func() bool { e.get(mr); return mr.DeletionTimestamp.IsZero() }).Should(BeFalse())
	e.stays(mr)
	e.requests.Forget()
	e.resourceManager(corev1beta1.ConditionTrue, "ApplySucceeded", "once more", time.Now())
	e.Eventually(e.requests.All).ShouldNot(BeEmpty(), "it looks again")
	e.stays(mr)
	e.Expect(e.requests.All()).To(HaveEach(HavePrefix("GET ")))
	e.letGo(mr)
}

// A Network that has left its seed has no part in the shoot any more.
func TestAMigratedNetworkIsLeftAlone(t *testing.T) {
	contract.Shows(t, "N11")
	modes(t, func(t *testing.T, e *env, asked func(*extensionsv1alpha1.Network)) {
		n := e.network(asking("migrate"))
		e.becomes(n, migrating, fine)
		e.Eventually(func() map[string]string { e.get(n); return n.Annotations }).ShouldNot(HaveKey(extensionsv1alpha1.OperationAnnotation))
		e.patch(n, withConfig(`{"backend":"none"}`))
		e.stays(n)
		e.patch(n, func(n *extensionsv1alpha1.Network) { n.Finalizers = []string{"extensions.gardener.cloud/network"} })
		e.Expect(e.client.Delete(t.Context(), n)).To(Succeed())
		e.stays(n)
		e.Expect(n.Finalizers).NotTo(BeEmpty())
	})
}

func TestMigratingAddsNoFinalizerAndNeedsNoBundle(t *testing.T) {
	contract.Shows(t, "N12", "N30")
	modes(t, func(t *testing.T, e *env, _ func(*extensionsv1alpha1.Network)) {
		n := e.network(asking("migrate"))
		e.becomes(n, migrating, fine)
		e.Expect(n.Finalizers).To(BeEmpty())
	})
}

// A Network that is deleted before its migration is through must not take the
// shoot's objects along.
func TestAMigrationGoesBeforeADeletion(t *testing.T) {
	contract.Shows(t, "N35")
	modes(t, func(t *testing.T, e *env, asked func(*extensionsv1alpha1.Network)) {
		n := e.finished(asked)
		mr := e.held()
		e.patch(n, asking("migrate"))
		e.Expect(e.client.Delete(t.Context(), n)).To(Succeed())
		e.Eventually(func() bool { e.get(mr); return mr.DeletionTimestamp.IsZero() }).Should(BeFalse())
		e.Expect(*mr.Spec.KeepObjects).To(BeTrue())
		e.letGo(mr)
		e.gone(n)
	})
}

// A migration that was interrupted goes on, whatever became of the annotation.
func TestAnInterruptedMigrationGoesOn(t *testing.T) {
	contract.Shows(t, "N35")
	modes(t, func(t *testing.T, e *env, asked func(*extensionsv1alpha1.Network)) {
		n := e.finished(asked)
		mr := e.held()
		e.patch(n, asking("migrate"))
		e.becomes(n, migrating, working)
		e.stop()
		e.patch(n, func(n *extensionsv1alpha1.Network) { delete(n.Annotations, extensionsv1alpha1.OperationAnnotation) })
		e.restart()
		e.Eventually(func() bool { e.get(mr); return mr.DeletionTimestamp.IsZero() }).Should(BeFalse())
		e.letGo(mr)
		e.becomes(n, migrating, fine)
		e.Eventually(func() []string { e.get(n); return n.Finalizers }).Should(BeEmpty())
	})
}

func TestAMigrationThatTakesLongSaysWhy(t *testing.T) {
	later := clocktesting.NewFakePassiveClock(time.Now().Add(time.Hour))
	e := setup(t, at(later))
	n := e.finished()
	mr := e.held()
	e.patch(n, asking("migrate"))
	e.becomes(n, migrating, erroneous)
	e.Expect(n.Status.LastError.Description).To(And(
		HavePrefix("Error migrating Network: the ManagedResource example-config is still being deleted: ")))
	e.letGo(mr)
	e.becomes(n, migrating, fine)
	e.Expect(n.Status.LastError).To(BeNil())
}

// The state that came from another seed is taken up, whatever the shoot has
// already, and the annotation stays until that has succeeded.
func TestARestoredNetworkTakesUpItsState(t *testing.T) {
	contract.Shows(t, "N9", "N37")
	modes(t, func(t *testing.T, e *env, asked func(*extensionsv1alpha1.Network)) {
		state := e.stateOfAnother(asked)
		n := e.network(asking("wait-for-state"))
		before := n.DeepCopy()
		n.Status.State = state
		e.Expect(e.client.Status().Patch(t.Context(), n, client.MergeFrom(before))).To(Succeed())
		e.patch(n, asking("restore"))
		e.managedResource()
		e.becomes(n, restoring, working)
		e.Expect(n.Status.LastOperation.Description).To(Equal("Restoring the Network"))
		e.Expect(n.Finalizers).To(ConsistOf("extensions.gardener.cloud/network"))
		e.Expect(n.Annotations).To(HaveKeyWithValue(extensionsv1alpha1.OperationAnnotation, "restore"))
		e.applied()
		e.becomes(n, restoring, fine)
		e.Expect(n.Status.LastOperation.Description).To(Equal("Successfully restored Network"))
		e.Eventually(func() map[string]string { e.get(n); return n.Annotations }).ShouldNot(HaveKey(extensionsv1alpha1.OperationAnnotation))
		e.stays(n)
		e.Expect(n.Status.LastOperation.Type).To(Equal(restoring))

		e.patch(n, func(n *extensionsv1alpha1.Network) { withConfig(`{"backend":"none"}`)(n); asked(n) })
		e.becomes(n, again, working)
	})
}

// stateOfAnother is the state of a Network that was carried out and is gone.
func (e *env) stateOfAnother(change ...func(*extensionsv1alpha1.Network)) *runtime.RawExtension {
	n := e.finished(change...)
	state := n.Status.State.DeepCopy()
	mr := e.managedResource()
	e.patch(n, asking("migrate"))
	e.gone(mr)
	e.becomes(n, migrating, fine)
	e.Expect(client.IgnoreNotFound(e.client.Delete(e.t.Context(), n))).To(Succeed())
	e.gone(n)
	secrets := &corev1.SecretList{}
	e.Expect(e.client.List(e.t.Context(), secrets, client.InNamespace(e.namespace))).To(Succeed())
	e.Expect(secrets.Items).To(BeEmpty())
	return state
}

// The annotation stays while the restoration fails.
func TestTheAnnotationOfAFailedRestorationStays(t *testing.T) {
	contract.Shows(t, "N9", "N35")
	modes(t, func(t *testing.T, e *env, _ func(*extensionsv1alpha1.Network)) {
		n := e.network(asking("restore"), withConfig(`{"backend":"unknown"}`))
		e.becomes(n, restoring, erroneous)
		e.Expect(n.Status.LastError.Description).To(HavePrefix("Error restoring Network: "))
		e.stays(n)
		e.Expect(n.Annotations).To(HaveKeyWithValue(extensionsv1alpha1.OperationAnnotation, "restore"))
		e.patch(n, withConfig(`{}`))
		e.managedResource()
		e.applied()
		e.becomes(n, restoring, fine)
	})
}

func TestAFailedShootIsNeitherMigratedNorRestoredNorDeleted(t *testing.T) {
	contract.Shows(t, "N17")
	e := setup(t, inGardener)
	n := e.finished(asking("reconcile"))
	e.cluster(func(s *corev1beta1.Shoot) {
		s.Status.LastOperation = &corev1beta1.LastOperation{State: corev1beta1.LastOperationStateFailed, Type: create}
	})
	for _, operation := range []string{"migrate", "restore"} {
		e.patch(n, asking(operation))
		e.stays(n)
	}
	e.Expect(e.client.Delete(t.Context(), n)).To(Succeed())
	e.stays(n)
	e.cluster(func(*corev1beta1.Shoot) {})
}
