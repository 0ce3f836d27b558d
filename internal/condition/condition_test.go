// SPDX-License-Identifier: Apache-2.0

package condition_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	"github.com/trellis-network/trellis/internal/condition"
	"github.com/trellis-network/trellis/test/contract"
)

func TestTimesChangeOnlyWithWhatTheyAreAbout(t *testing.T) {
	contract.Shows(t, "H4")
	g := NewWithT(t)
	first := time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)
	second, third := first.Add(time.Minute), first.Add(time.Hour)
	wanted := corev1beta1.Condition{Type: "Ready", Status: corev1beta1.ConditionTrue, Reason: "Applied", Message: "Everything is applied."}

	list, changed := condition.Set(nil, wanted, first)
	g.Expect(changed).To(BeTrue())
	same, changed := condition.Set(list, wanted, second)
	g.Expect(changed).To(BeFalse())
	g.Expect(same).To(Equal(list))

	wanted.Message = "Everything is applied again."
	updated, changed := condition.Set(list, wanted, second)
	g.Expect(changed).To(BeTrue())
	ready := condition.Get(updated, "Ready")
	g.Expect(ready.LastTransitionTime.Time).To(BeTemporally("==", first.Truncate(time.Second)))
	g.Expect(ready.LastUpdateTime.Time).To(BeTemporally("==", second.Truncate(time.Second)))
	g.Expect(condition.Value(list, "Ready").Message).To(Equal("Everything is applied."), "the list before stays as it is")

	wanted.Status = corev1beta1.ConditionFalse
	failed, _ := condition.Set(updated, wanted, third)
	g.Expect(condition.Value(failed, "Ready").LastTransitionTime.Time).To(BeTemporally("==", third.Truncate(time.Second)))
	g.Expect(condition.IsTrue(updated, "Ready")).To(BeTrue())
	g.Expect(condition.IsTrue(failed, "Ready")).To(BeFalse())
}

func TestRemovingAConditionKeepsTheOthers(t *testing.T) {
	g := NewWithT(t)
	list := []corev1beta1.Condition{{Type: "one"}, {Type: "two"}}
	left, changed := condition.Remove(list, "one")
	g.Expect(changed).To(BeTrue())
	g.Expect(left).To(Equal([]corev1beta1.Condition{{Type: "two"}}))
	_, changed = condition.Remove(left, "one")
	g.Expect(changed).To(BeFalse())
	g.Expect(condition.Get(left, "one")).To(BeNil())
	g.Expect(list).To(HaveLen(2))
}
