// SPDX-License-Identifier: Apache-2.0

package managedresource

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	testclock "k8s.io/utils/clock/testing"

	resourcesv1alpha1 "github.com/trellis-network/trellis/api/resources/v1alpha1"
	"github.com/trellis-network/trellis/test/contract"
)

// The finalizers of an object whose deletion hangs are removed when its time is over, and
// not before.
func TestHangingDeletionsAreFinalized(t *testing.T) {
	contract.Shows(t, "R19")
	e := newEnv(t)
	clock := testclock.NewFakePassiveClock(time.Now())
	held := e.configMap("held")
	held.Annotations, held.Finalizers = map[string]string{resourcesv1alpha1.FinalizeDeletionAfter: "1h"}, []string{holder}
	mr := e.state("network", held)
	e.operator(func(o *Options) { o.Clock = clock })
	e.becomesGood("network")

	e.Expect(e.seed.Delete(e.ctx, mr)).To(Succeed())
	e.Eventually(e.message("network", "ResourcesApplied")).Should(ContainSubstring("held by " + holder))
	clock.SetTime(live(e, held).GetDeletionTimestamp().Add(59 * time.Minute))
	e.passes(3)
	e.Expect(e.exists(held)()).To(BeTrue())
	clock.SetTime(live(e, held).GetDeletionTimestamp().Add(time.Hour))
	e.isGone(mr)
	e.Expect(e.exists(held)()).To(BeFalse())
}

// passes waits until the operator has looked at the shoot so many times.
func (e *env) passes(n int) {
	e.t.Helper()
	e.audit.reset()
	e.Eventually(func() int { return len(e.audit.sent("shoot GET")) }).Should(BeNumerically(">=", n))
}

// The annotation of the object as it is counts, and then the stated one.
func TestTheLimitOfADeletion(t *testing.T) {
	contract.Shows(t, "R19")
	for name, c := range map[string]struct {
		live, stated string
		after        time.Duration
		limited      bool
	}{
		"without an annotation":       {},
		"stated":                      {stated: "5m", after: 5 * time.Minute, limited: true},
		"the object takes precedence": {live: "1m", stated: "5m", after: time.Minute, limited: true},
		"nonsense is no limit":        {live: "soon", stated: "5m"},
		"at once":                     {stated: "0s", limited: true},
	} {
		t.Run(name, func(t *testing.T) {
			annotations := func(value string) map[string]string {
				if value == "" {
					return nil
				}
				return map[string]string{resourcesv1alpha1.FinalizeDeletionAfter: value}
			}
			after, limited := finalizeAfter(&reference{Annotations: annotations(c.stated)},
				&metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Annotations: annotations(c.live)}})
			g := NewWithT(t)
			g.Expect(limited).To(Equal(c.limited))
			g.Expect(after).To(Equal(c.after))
		})
	}
}
