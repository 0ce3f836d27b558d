// SPDX-License-Identifier: Apache-2.0

package managedresource

import (
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	resourcesv1alpha1 "github.com/trellis-network/trellis/api/resources/v1alpha1"
)

// dieAfter admits a number of writes, to both clusters together, and no more, as if the
// process had died then.
func (e *env) dieAfter(writes int32) (died chan struct{}) {
	var sent atomic.Int32
	died = make(chan struct{})
	e.refuse(func(_ string, request *http.Request) error {
		if request.Method == http.MethodGet || request.URL.Query().Has("dryRun") {
			return nil
		}
		switch n := sent.Add(1); {
		case n <= writes:
			return nil
		case n == writes+1:
			close(died)
		}
		return errors.New("the process is dead")
	})
	return died
}

func (e *env) revive() { e.refuse(nil) }

// Wherever a process dies, and whatever the Secrets state afterwards, the next process ends
// in the same state, and leaves no object behind.
func TestCrashes(t *testing.T) {
	for writes := range int32(8) {
		t.Run(fmt.Sprintf("after %d writes", writes), func(t *testing.T) {
			e := newEnv(t)
			first := []client.Object{e.configMap("a"), e.configMap("b"), e.configMap("c")}
			e.state("network", e.configMap("zero"))
			stop := e.operator()
			e.becomesGood("network")
			stop()

			died := e.dieAfter(writes)
			e.state("network", first...)
			stop = e.operator()
			e.endsOr(died, func() bool { ok, _ := Equal(good).Match(e.conditions("network")()); return ok })
			stop()
			e.revive()
			// The Secrets never state again what they stated when the process died.
			second := e.configMap("d")
			mr := e.state("network", second)
			stop = e.operator()
			e.becomesGood("network")
			e.Expect(e.ours()).To(Equal([]string{"d"}))
			stop()

			died = e.dieAfter(writes)
			e.Expect(e.seed.Delete(e.ctx, mr)).To(Succeed())
			stop = e.operator()
			e.endsOr(died, func() bool {
				return e.seed.Get(e.ctx, client.ObjectKeyFromObject(mr), &resourcesv1alpha1.ManagedResource{}) != nil
			})
			stop()
			e.revive()
			e.operator()
			e.isGone(mr)
			e.Expect(e.ours()).To(BeEmpty())
		})
	}
}

// ours are the names of the managed ConfigMaps in the shoot.
func (e *env) ours() []string {
	list := &corev1.ConfigMapList{}
	e.Expect(e.shoot.List(e.ctx, list, client.InNamespace(e.namespace), client.HasLabels{resourcesv1alpha1.ManagedBy})).To(Succeed())
	var names []string
	for _, each := range list.Items {
		names = append(names, each.Name)
	}
	return names
}

// endsOr waits until the process has died, or has finished before.
func (e *env) endsOr(died chan struct{}, end func() bool) {
	e.t.Helper()
	e.Eventually(func() bool {
		select {
		case <-died:
			return true
		default:
			return end()
		}
	}).Should(BeTrue())
}
