// SPDX-License-Identifier: Apache-2.0

package networkstatus

import (
	"errors"
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/internal/condition"
	"github.com/trellis-network/trellis/internal/controller/networkstatus/source"
	"github.com/trellis-network/trellis/test/contract"
)

var now = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// networkWith is a Network whose status has a providerStatus and conditions.
func networkWith(providerStatus string, conditions ...corev1beta1.Condition) *extensionsv1alpha1.Network {
	n := &extensionsv1alpha1.Network{}
	n.Status.Conditions = conditions
	if providerStatus != "" {
		n.Status.ProviderStatus = &runtime.RawExtension{Raw: []byte(providerStatus)}
	}
	return n
}

func conditionAt(conditionType string, status corev1beta1.ConditionStatus, reason, message string, transition, update time.Duration) corev1beta1.Condition {
	return corev1beta1.Condition{Type: conditionType, Status: status, Reason: reason, Message: message,
		LastTransitionTime: metav1.NewTime(now.Add(-transition)), LastUpdateTime: metav1.NewTime(now.Add(-update))}
}

// answered is the answer of a source that owns the condition T and providerStatus.part.
func answered(part any, conditions ...corev1beta1.Condition) answer {
	a := answer{Registration: &source.Registration{Name: "t", Conditions: []string{"T"}, ProviderStatus: []string{"part"}}}
	a.report.Conditions = conditions
	if part != nil {
		a.report.ProviderStatus = map[string]any{"part": part}
	}
	a.err = a.check()
	return a
}

func TestTimesOfConditions(t *testing.T) {
	contract.Shows(t, "H4")
	wanted := func(status corev1beta1.ConditionStatus, reason string) corev1beta1.Condition {
		return corev1beta1.Condition{Type: "T", Status: status, Reason: reason, Message: "new"}
	}
	was := func(status corev1beta1.ConditionStatus, transition, update time.Duration) []corev1beta1.Condition {
		return []corev1beta1.Condition{conditionAt("T", status, "Fine", "old", transition, update)}
	}
	const hour = time.Hour
	for name, test := range map[string]struct {
		before             []corev1beta1.Condition
		wanted             corev1beta1.Condition
		part               any
		transition, update time.Duration
		requeueAfter       time.Duration
	}{
		"new":                                   {nil, wanted("True", "Fine"), nil, 0, 0, 0},
		"another message":                       {was("True", hour, hour), wanted("True", "Fine"), nil, hour, 0, 0},
		"another message, soon":                 {was("True", hour, 4*time.Second), wanted("True", "Fine"), nil, hour, 4 * time.Second, 6 * time.Second},
		"another message, with other values":    {was("True", hour, 4*time.Second), wanted("True", "Fine"), 1, hour, 0, 0},
		"another message, by a clock that lags": {was("True", hour, -time.Minute), wanted("True", "Fine"), nil, hour, 0, 0},
		"another reason, soon":                  {was("True", hour, time.Second), wanted("True", "Better"), nil, hour, 0, 0},
		"another status":                        {was("True", hour, hour), wanted("Progressing", "Fine"), nil, 0, 0, 0},
		"another status, soon":                  {was("True", time.Second, time.Second), wanted("False", "Fine"), nil, 0, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			d := merge(networkWith("", test.before...), nil, []answer{answered(test.part, test.wanted)}, now)
			g.Expect(d.changed).To(Equal(test.update == 0))
			g.Expect(d.conditions).To(HaveLen(1))
			g.Expect(now.Sub(d.conditions[0].LastTransitionTime.Time)).To(Equal(test.transition))
			g.Expect(now.Sub(d.conditions[0].LastUpdateTime.Time)).To(Equal(test.update))
			g.Expect(d.requeueAfter).To(Equal(test.requeueAfter))
		})
	}
}

func TestOnlyWhatTheStatusLacksIsAChange(t *testing.T) {
	fine := conditionAt("T", "True", "Fine", "fine", time.Hour, time.Hour)
	wrote := func(part any) map[string]any { return map[string]any{"part": part} }
	two := map[string]any{"a": true, "b": int64(2)}
	for name, test := range map[string]struct {
		network *extensionsv1alpha1.Network
		applied map[string]any
		answer  answer
		changed bool
	}{
		"nothing said yet":                            {networkWith(""), nil, answered(two, fine), true},
		"the same":                                    {networkWith(`{"part":{"b":2,"a":true}}`, fine), nil, answered(two, fine), false},
		"another value":                               {networkWith(`{"part":{"b":3,"a":true}}`, fine), nil, answered(two, fine), true},
		"a key less":                                  {networkWith(`{"part":{"b":2,"a":true,"c":1}}`, fine), nil, answered(two, fine), true},
		"a key of another writer":                     {networkWith(`{"part":{"b":2,"a":true,"c":1}}`, fine), wrote(two), answered(two, fine), false},
		"a key that was ours":                         {networkWith(`{"part":{"b":2,"a":true,"c":1}}`, fine), wrote(map[string]any{"a": true, "b": int64(2), "c": int64(1)}), answered(two, fine), true},
		"nothing any more":                            {networkWith(`{"part":{"b":2,"a":true}}`, fine), wrote(two), answered(nil, fine), true},
		"nothing, before and now":                     {networkWith(`{"part":{},"else":1}`, fine), nil, answered(nil, fine), false},
		"no condition any more":                       {networkWith("", fine), nil, answered(nil), true},
		"a condition and a key of another":            {networkWith(`{"else":1}`, conditionAt("Other", "True", "r", "m", 0, 0)), nil, answered(nil), false},
		"a providerStatus that is no object":          {networkWith(`[]`, fine), nil, answered(two, fine), true},
		"a condition with a list of codes of its own": {networkWith("", fine), nil, answered(nil, withCode(fine)), true},
	} {
		t.Run(name, func(t *testing.T) {
			d := merge(test.network, test.applied, []answer{test.answer}, now)
			NewWithT(t).Expect(d.changed).To(Equal(test.changed))
		})
	}
}

func withCode(c corev1beta1.Condition) corev1beta1.Condition {
	c.Codes = []corev1beta1.ErrorCode{corev1beta1.ErrorConfigurationProblem}
	return c
}

// The writer states its part of the status as a whole, so that an apply would remove
// what it leaves out.
func TestWhatAFailingSourceStatedIsStatedAgain(t *testing.T) {
	g := NewWithT(t)
	failing := answered(nil)
	failing.err = errors.New("no")
	other := answer{Registration: &source.Registration{Name: "o", Conditions: []string{"O"}, ProviderStatus: []string{"o"}}}
	other.report = source.Report{ProviderStatus: map[string]any{"o": []int{1}}, RequeueAfter: time.Minute}
	g.Expect(other.check()).To(Succeed())
	fine := conditionAt("T", "True", "Fine", "fine", 0, 0)
	network := networkWith(`{"part":{"ours":1,"foreign":2}}`, fine)

	applied := map[string]any{"part": map[string]any{"ours": int64(1)}}
	d := merge(network, applied, []answer{failing, other}, now)
	g.Expect(d.changed).To(BeTrue())
	g.Expect(condition.Value(d.conditions, "T")).To(Equal(fine))
	g.Expect(d.providerStatus).To(Equal(map[string]any{"part": map[string]any{"ours": int64(1)}, "o": []any{int64(1)}}))
	g.Expect(d.requeueAfter).To(Equal(time.Minute))

	d = merge(network, nil, []answer{failing, other}, now)
	g.Expect(d.providerStatus).To(HaveKeyWithValue("part", map[string]any{"ours": int64(1), "foreign": int64(2)}),
		"after a restart the status tells what was stated")
}

func TestASourceMayOnlyStateWhatItOwns(t *testing.T) {
	g := NewWithT(t)
	g.Expect(answered(nil, corev1beta1.Condition{Type: "Other"}).err).To(MatchError(ContainSubstring("the condition Other does not belong")))
	a := answered(nil)
	a.report.ProviderStatus = map[string]any{"config": 1}
	g.Expect(a.check()).To(MatchError(ContainSubstring("providerStatus.config does not belong")))
	g.Expect(answered(func() {}).err).To(MatchError(ContainSubstring("encode the providerStatus")))
}

// checkOwners returns an error if two sources own the same part of the status.
func checkOwners(sources []source.Registration) error {
	owners := map[string]string{}
	for _, s := range sources {
		var parts []string
		for _, conditionType := range s.Conditions {
			parts = append(parts, "the condition "+conditionType)
		}
		for _, key := range s.ProviderStatus {
			parts = append(parts, "providerStatus."+key)
		}
		for _, part := range parts {
			if other, taken := owners[part]; taken {
				return fmt.Errorf("the sources %s and %s both own %s", other, s.Name, part)
			}
			owners[part] = s.Name
		}
	}
	return nil
}

func TestEachPartOfTheStatusHasOneOwner(t *testing.T) {
	g := NewWithT(t)
	options := Options{}
	g.Expect(checkOwners(options.sources())).To(Succeed())
	one := source.Registration{Name: "one", Conditions: []string{"A"}, ProviderStatus: []string{"a", "b"}}
	g.Expect(checkOwners([]source.Registration{one, {Name: "two", Conditions: []string{"a"}, ProviderStatus: []string{"A"}}})).To(Succeed())
	g.Expect(checkOwners([]source.Registration{one, {Name: "two", Conditions: []string{"A"}}})).To(
		MatchError("the sources one and two both own the condition A"))
	g.Expect(checkOwners([]source.Registration{one, {Name: "two", ProviderStatus: []string{"b"}}})).To(
		MatchError("the sources one and two both own providerStatus.b"))
}
