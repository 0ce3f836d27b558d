// SPDX-License-Identifier: Apache-2.0

package managedresource

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	resourcesv1alpha1 "github.com/trellis-network/trellis/api/resources/v1alpha1"
	"github.com/trellis-network/trellis/test/harness"
)

// configMaps returns that many ConfigMaps, and a ServiceAccount, with whose deletion an API server
// answers otherwise.
func (e *env) configMaps(count int) []client.Object {
	account := &corev1.ServiceAccount{}
	account.APIVersion, account.Kind, account.Namespace, account.Name = "v1", "ServiceAccount", e.namespace, "agent"
	objects := []client.Object{account}
	for i := range count {
		objects = append(objects, e.configMap(fmt.Sprintf("number-%02d", i), "a", "b"))
	}
	return objects
}

// requested asks for a reconciliation of a ManagedResource.
func (e *env) requested(name string) {
	e.t.Helper()
	e.edit(name, func(mr *resourcesv1alpha1.ManagedResource) {
		mr.Annotations = map[string]string{"gardener.cloud/operation": "reconcile"}
	})
	e.Eventually(func() map[string]string { return e.get(name).Annotations }).Should(BeEmpty())
}

// A kind is applied in the time of a few requests, however many objects it has. The next kind
// waits for all of them.
func TestObjectsOfAKindAreAppliedAtOnce(t *testing.T) {
	e := newEnv(t)
	crd, widget := e.widgets("at-once")
	var met sync.WaitGroup
	met.Add(maxAtOnce)
	var mutex sync.Mutex
	applied := 0
	e.audit.shoot.Before(func(request *http.Request) error {
		if request.Method != http.MethodPatch || !strings.Contains(request.URL.Path, "/configmaps/") {
			return nil
		}
		mutex.Lock()
		applied++
		isOneOfTheFirst := applied <= maxAtOnce
		mutex.Unlock()
		if isOneOfTheFirst {
			met.Done()
			met.Wait() // until as many are applied at the same time
		}
		return nil
	})
	e.state("network", append(e.configMaps(2*maxAtOnce), crd, widget)...)
	e.operator()
	e.becomesGood("network")
	var order []string
	for _, request := range e.audit.sent("shoot PATCH") {
		parts := strings.Split(request, "/")
		if kind := parts[len(parts)-2]; len(order) == 0 || order[len(order)-1] != kind {
			order = append(order, kind)
		}
	}
	e.Expect(order).To(Equal([]string{"serviceaccounts", "configmaps", "customresourcedefinitions", "widgets"}))
}

// The first application of a kind that the cluster does not have yet costs a request an object,
// and a list and discovery for each kind.
func TestANewObjectCostsOneRequest(t *testing.T) {
	e := newEnv(t)
	e.state("network", e.configMaps(20)...)
	e.operator()
	e.becomesGood("network")
	e.Expect(e.audit.sent("shoot PATCH")).To(HaveLen(21))
	e.Expect(e.audit.sent("shoot GET", "/configmaps/")).To(BeEmpty())
}

// With the operation annotation, the operator reads each object once, and corrects what the cache
// cannot show: that another client owns fields too, which the next change would leave as they are.
func TestARequestedPassReadsEachObjectOnce(t *testing.T) {
	e := newEnv(t)
	objects := e.configMaps(20)
	e.state("network", append(objects, e.daemonSet("agent"))...)
	e.operator()
	e.becomesGood("network")
	e.audit.reset()
	e.requested("network")
	e.Eventually(func() []string { return e.audit.sent("shoot ") }).Should(HaveLen(22))
	e.becomesGood("network")
	e.Expect(e.audit.sent("shoot GET")).To(HaveLen(22))
	e.Expect(e.audit.writes()).To(HaveLen(1), "the annotation is removed")

	agent := e.daemonSet("agent")
	taken := client.RawPatch(types.ApplyPatchType, []byte(`{"apiVersion":"apps/v1","kind":"DaemonSet","spec":{"template":{"spec":{"containers":[{"name":"agent","image":"registry.example/agent:1"}]}}}}`))
	e.Expect(e.shoot.Patch(e.ctx, agent, taken, client.FieldOwner("thief"), client.ForceOwnership)).To(Succeed())
	e.audit.reset()
	e.requested("network")
	e.Eventually(func() []string { return e.audit.sent("shoot PATCH", "/daemonsets/") }).ShouldNot(BeEmpty())
	e.becomesGood("network")
	e.Eventually(func() (managers []string) {
		for _, entry := range live(e, agent).GetManagedFields() {
			managers = append(managers, entry.Manager)
		}
		return managers
	}).ShouldNot(ContainElement("thief"))
	e.Expect(e.audit.sent("shoot ", "/configmaps/")).To(HaveLen(20))
}

// A deletion costs a request an object, and a second one for what does not go at once. A run that
// begins before the cache shows the inventory that the last one has written reads what that one deleted.
func TestADeletedObjectCostsOneRequest(t *testing.T) {
	e := newEnv(t)
	crd, widget := e.widgets("deleted")
	watched := e.configMap("watched", "a", "b")
	mr := e.state("network", append(e.configMaps(20), crd, widget, watched)...)
	e.operator()
	e.becomesGood("network")
	// What the operator reverts, it has seen in its cache: the first time maybe in the middle of the list
	// with which the cache begins, the second time after all of it.
	for range 2 {
		harness.Change(t, e.shoot, e.configMap("watched"), func(c *corev1.ConfigMap) { c.Data["a"] = "other" })
		e.Eventually(func() string { return live(e, watched).Data["a"] }).Should(Equal("b"))
	}
	e.audit.reset()
	e.Expect(e.seed.Delete(e.ctx, mr)).To(Succeed())
	e.isGone(mr)
	e.Expect(e.audit.sent("shoot DELETE")).To(HaveLen(24))
	about := e.audit.sent("shoot ", "/configmaps/number-")
	e.Expect(about[:20]).To(HaveEach(HavePrefix("shoot DELETE")))
	e.Expect(len(about)).To(BeNumerically("<=", 40))
	e.Expect(len(e.audit.sent("shoot GET", crd.Name))).To(BeNumerically("<=", 4))
}

// What the cache has may be outdated. An object that a user has just protected is not deleted.
func TestADeletionDoesNotRelyOnTheCache(t *testing.T) {
	e := newEnv(t)
	kept, one := e.configMap("kept"), e.configMap("one")
	mr := e.state("network", kept, one)
	e.operator()
	e.becomesGood("network")
	var once sync.Once
	e.audit.shoot.Before(func(request *http.Request) error {
		if request.Method == http.MethodDelete && strings.HasSuffix(request.URL.Path, "/kept") {
			once.Do(func() {
				harness.Change(t, e.shoot, e.configMap("kept"), func(c *corev1.ConfigMap) {
					c.Annotations[resourcesv1alpha1.KeepObject] = "true"
				})
			})
		}
		return nil
	})
	e.Expect(e.seed.Delete(e.ctx, mr)).To(Succeed())
	e.isGone(mr)
	e.Expect(e.exists(one)()).To(BeFalse())
	e.Expect(e.exists(kept)()).To(BeTrue())
}
