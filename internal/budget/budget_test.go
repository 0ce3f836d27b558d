// SPDX-License-Identifier: Apache-2.0

package budget_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/trellis-network/trellis/internal/budget"
)

// spend tries to report an object each second, and returns how many reports were written.
func spend(b *budget.Budget, object *metav1.ObjectMeta, now *time.Time, seconds int) (written int) {
	for range seconds {
		if b.Spend(object, *now) == 0 {
			written++
		}
		*now = now.Add(time.Second)
	}
	return written
}

func TestTenReportsAreWrittenAtOnceAndThenOneInTenSeconds(t *testing.T) {
	g, b, now := NewWithT(t), &budget.Budget{}, time.Unix(0, 0)
	one := &metav1.ObjectMeta{Namespace: "shoot--dev--one", Name: "network"}
	for range budget.Reports {
		g.Expect(b.Spend(one, now)).To(BeZero())
	}
	g.Expect(b.Spend(one, now)).To(Equal(budget.Period))
	now = now.Add(4 * time.Second)
	g.Expect(b.Spend(one, now)).To(Equal(budget.Period-4*time.Second), "what was refused costs nothing")
	now = now.Add(6 * time.Second)
	g.Expect(spend(b, one, &now, 60)).To(Equal(6))

	another := one.DeepCopy()
	another.Namespace = "shoot--dev--two"
	g.Expect(b.Spend(another, now)).To(BeZero())
}

func TestAUserAndANewObjectRenewTheBudget(t *testing.T) {
	g, b, now := NewWithT(t), &budget.Budget{}, time.Unix(0, 0)
	one := &metav1.ObjectMeta{Namespace: "shoot--dev--one", Name: "network", UID: "1"}
	g.Expect(spend(b, one, &now, 10)).To(Equal(10))
	g.Expect(b.Spend(one, now)).To(BeZero(), "ten seconds have passed")
	g.Expect(b.Spend(one, now)).NotTo(BeZero())
	one.Generation++
	g.Expect(b.Spend(one, now)).To(BeZero())
	g.Expect(spend(b, one, &now, 20)).To(BeNumerically("<", 20))
	one.UID = "2"
	g.Expect(b.Spend(one, now)).To(BeZero())
	g.Expect(spend(b, one, &now, 20)).To(BeNumerically("<", 20))
	b.Forget(types.NamespacedName{Namespace: one.Namespace, Name: one.Name})
	g.Expect(b.Spend(one, now)).To(BeZero())
}
