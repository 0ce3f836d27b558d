// SPDX-License-Identifier: Apache-2.0

package managedresource

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	resourcesv1alpha1 "github.com/trellis-network/trellis/api/resources/v1alpha1"
	"github.com/trellis-network/trellis/test/contract"
)

const holder = "example.com/hold"

// The operator deletes what the Secrets no longer state before it applies anything.
func TestObsoleteObjectsAreDeletedFirst(t *testing.T) {
	contract.Shows(t, "R5")
	e := newEnv(t)
	old, fresh := e.configMap("old"), e.configMap("fresh")
	old.Finalizers = []string{holder}
	e.state("network", old)
	e.operator()
	e.becomesGood("network")

	e.state("network", fresh)
	e.Eventually(e.conditions("network")).Should(And(
		HaveKeyWithValue("ResourcesApplied", "Progressing DeletionPending"),
		HaveKeyWithValue("ResourcesHealthy", "Unknown ChecksPending")))
	e.Expect(e.message("network", resourcesv1alpha1.ResourcesApplied)()).To(Equal(fmt.Sprintf(
		"Waiting until these are deleted: ConfigMap %s/old (deleted at %s; held by %s)."+advice[len(advice)-1].text,
		e.namespace, live(e, old).DeletionTimestamp.UTC().Format(time.RFC3339), holder)))
	e.Expect(e.exists(fresh)()).To(BeFalse())

	change(e, old, func(cm *corev1.ConfigMap) { cm.Finalizers = nil })
	e.becomesGood("network")
	e.Expect(e.exists(old)()).To(BeFalse())
	e.Expect(e.exists(fresh)()).To(BeTrue())
	requests := e.audit.writes()
	deleted := slices.IndexFunc(requests, func(r string) bool { return strings.HasSuffix(r, "configmaps/old") && strings.Contains(r, "DELETE") })
	applied := slices.IndexFunc(requests, func(r string) bool { return strings.HasSuffix(r, "configmaps/fresh") })
	e.Expect(deleted).To(BeNumerically("<", applied))
}

// The operator never deletes an object with keep-object.
func TestKeptObjects(t *testing.T) {
	contract.Shows(t, "R6")
	e := newEnv(t)
	obsolete, last := e.configMap("obsolete"), e.configMap("last")
	e.state("network", obsolete, last)
	e.operator()
	e.becomesGood("network")
	for _, each := range []*corev1.ConfigMap{obsolete, last} {
		change(e, each, func(cm *corev1.ConfigMap) { cm.Annotations[resourcesv1alpha1.KeepObject] = "true" })
	}

	mr := e.state("network", last)
	e.Eventually(func() int { return len(e.get("network").Status.Resources) }).Should(Equal(1))
	e.becomesGood("network")
	e.Expect(e.seed.Delete(e.ctx, mr)).To(Succeed())
	e.isGone(mr)
	e.Expect(e.exists(obsolete)()).To(BeTrue())
	e.Expect(e.exists(last)()).To(BeTrue())
}

func (e *env) isGone(mr client.Object) {
	e.t.Helper()
	e.Eventually(func() bool {
		return apierrors.IsNotFound(e.seed.Get(e.ctx, client.ObjectKeyFromObject(mr), &resourcesv1alpha1.ManagedResource{}))
	}).Should(BeTrue())
}

// The operator does not delete an object that another ManagedResource has taken over.
func TestObjectsMoveBetweenManagedResources(t *testing.T) {
	e := newEnv(t)
	one := e.configMap("one")
	e.state("first", one)
	stop := e.operator()
	e.becomesGood("first")
	stop()

	// The first is deleted while no operator runs. Only then the second states the object.
	uid := live(e, one).UID
	e.Expect(e.seed.Delete(e.ctx, e.get("first"))).To(Succeed())
	e.state("second", one)
	change(e, one, func(cm *corev1.ConfigMap) { cm.Annotations[resourcesv1alpha1.Origin] = e.namespace + "/second" })
	second := e.get("second")
	second.Status.Resources = e.get("first").Status.Resources
	e.Expect(e.seed.Status().Update(e.ctx, second)).To(Succeed())

	e.operator()
	e.isGone(e.mrNamed("first"))
	e.becomesGood("second")
	e.Expect(live(e, one).UID).To(Equal(uid))
}

func (e *env) mrNamed(name string) *resourcesv1alpha1.ManagedResource {
	mr := &resourcesv1alpha1.ManagedResource{}
	mr.Namespace, mr.Name = e.namespace, name
	return mr
}
