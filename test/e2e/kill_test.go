// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"math/rand/v2"
	"syscall"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// kills is how often the test kills the operator.
const kills = 20

// Invariant 6 of docs/design.md: any crash is safe. The test kills the operator at random
// moments while it creates, changes and deletes a network. The result must be the same as
// that of an undisturbed run.
func TestKillingTheOperatorChangesNothing(t *testing.T) {
	w := setup(t, forKills)
	seedBefore, shootBefore := w.snapshot(w.seed), w.snapshot(w.shoot)
	typha := w.johndoe(func(config map[string]any) {
		config["typha"] = map[string]any{"enabled": true}
		config["vethMTU"] = "1400"
	})
	w.apply(w.johndoe())
	w.succeeds()
	w.apply(typha)
	w.succeeds()
	w.tidied()
	undisturbedSeed, undisturbed := only(w.snapshot(w.seed), "Network.", "ManagedResource.", "Secret.", "Cluster."), w.snapshot(w.shoot)
	w.delete()

	seed := uint64(time.Now().UnixNano())
	t.Logf("the seed of the random moments is %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	steps := []func(){
		func() { w.apply(w.johndoe()) },
		func() { w.apply(typha) },
		func() { w.apply(w.johndoe()) },
		func() { _ = w.seed.Delete(t.Context(), w.johndoe()) },
	}
	for i := range kills {
		if w.deleting() {
			w.gone() // the API server accepts no change of a Shoot that is being deleted
		}
		steps[i%len(steps)]()
		<-time.After(time.Duration(random.IntN(4000)) * time.Millisecond)
		w.stopOperator(syscall.SIGKILL)
		w.startOperator()
	}
	if w.deleting() {
		w.gone()
	}
	w.apply(w.johndoe())
	w.apply(typha)
	w.succeeds()
	w.Eventually(func() []string { return difference(undisturbed, w.snapshot(w.shoot)) }).WithPolling(time.Second).Should(BeEmpty())
	w.Eventually(func() []string {
		return difference(undisturbedSeed, only(w.snapshot(w.seed), "Network.", "ManagedResource.", "Secret.", "Cluster."))
	}).WithPolling(time.Second).Should(BeEmpty())
	w.delete()
	w.Expect(difference(seedBefore, w.snapshot(w.seed))).To(BeEmpty())
	w.Expect(difference(shootBefore, w.snapshot(w.shoot))).To(BeEmpty())
}

// deleting reports whether the Shoot is being deleted.
func (w *world) deleting() bool {
	shoot := w.johndoe()
	err := w.seed.Get(w.t.Context(), client.ObjectKeyFromObject(shoot), shoot)
	w.Expect(client.IgnoreNotFound(err)).To(Succeed())
	return err == nil && shoot.GetDeletionTimestamp() != nil
}
