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

// kills is how often the operator is killed.
const kills = 20

// Invariant 6: the operator may be killed at any moment. However often that
// happens while a network is made, changed and removed, the end is the same as
// of a run that was not disturbed.
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
	t.Logf("moments are drawn with seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	steps := []func(){
		func() { w.apply(w.johndoe()) },
		func() { w.apply(typha) },
		func() { w.apply(w.johndoe()) },
		func() { _ = w.seed.Delete(t.Context(), w.johndoe()) },
	}
	for i := range kills {
		if w.deleting() {
			w.gone() // nothing can be applied to a Shoot that goes
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

// deleting reports whether the Shoot is on its way out.
func (w *world) deleting() bool {
	shoot := w.johndoe()
	err := w.seed.Get(w.t.Context(), client.ObjectKeyFromObject(shoot), shoot)
	w.Expect(client.IgnoreNotFound(err)).To(Succeed())
	return err == nil && shoot.GetDeletionTimestamp() != nil
}
