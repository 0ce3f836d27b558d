// SPDX-License-Identifier: Apache-2.0

package wave

import (
	"fmt"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func policy() Policy {
	return Policy{
		Revision: "new", MaxConcurrency: intstr.FromString("10%"), MaxFailures: intstr.FromString("1%"),
		MinSuccessTime: 10 * time.Minute, ProgressDeadline: time.Hour, CanaryLabels: map[string]string{"canary": "true"},
	}
}

// members are those with these phases of the new revision, in their order; empty means none.
func membersIn(phases ...Phase) (all []Member) {
	for i, phase := range phases {
		m := Member{Name: types.NamespacedName{Namespace: fmt.Sprintf("shoot--%03d", i), Name: "example"}}
		if phase != "" {
			m.Record = &Record{Revision: "new", Phase: phase, Since: metav1.NewTime(noon)}
		}
		all = append(all, m)
	}
	return all
}

func TestAShareIsOfAllNetworks(t *testing.T) {
	for _, test := range []struct {
		networks            int
		concurrency, failed string
		limit, tolerated    int
	}{
		{300, "10%", "1%", 30, 3},
		{299, "10%", "1%", 30, 3}, // both are rounded up
		{3, "10%", "1%", 1, 1},    // so one alone does not halt it
		{0, "10%", "1%", 1, 0},
		{300, "7", "2", 7, 2},
		{300, "1%", "0", 3, 0},
	} {
		p := policy()
		p.MaxConcurrency, p.MaxFailures = intstr.Parse(test.concurrency), intstr.Parse(test.failed)
		s := p.Assess(membersIn(make([]Phase, test.networks)...), noon)
		NewWithT(t).Expect([]int{s.Limit, s.Tolerated}).To(Equal([]int{test.limit, test.tolerated}), "%+v", test)
	}
}

func TestWhatANetworkWaitsFor(t *testing.T) {
	for name, test := range map[string]struct {
		others []Phase
		change func(*Policy, []Member, *Member)
		reason Reason
		tells  string
	}{
		"nothing":                       {others: []Phase{Pending, Succeeded, ""}},
		"others":                        {others: []Phase{Progressing, Succeeded}, reason: WaitingForOthers, tells: "1 Networks at a time"},
		"others of an earlier revision": {others: []Phase{Progressing}, change: func(_ *Policy, all []Member, _ *Member) { all[0].Record.Revision = "old" }, reason: WaitingForOthers},
		"a canary":                      {others: []Phase{Pending, ""}, change: func(_ *Policy, all []Member, _ *Member) { all[1].Canary = true }, reason: WaitingForCanaries, tells: "the canaries shoot--001/example"},
		"a canary of which an earlier revision has succeeded": {others: []Phase{Succeeded}, change: func(_ *Policy, all []Member, _ *Member) {
			all[0].Canary, all[0].Record.Revision = true, "old"
		}, reason: WaitingForCanaries},
		"not for canaries as one of them":            {others: []Phase{""}, change: func(_ *Policy, all []Member, m *Member) { all[0].Canary, m.Canary = true, true }},
		"not for a canary that is paused":            {others: []Phase{""}, change: func(_ *Policy, all []Member, _ *Member) { all[0].Canary, all[0].Paused = true, true }},
		"the end of a halt":                          {others: []Phase{Failed}, reason: RolloutHalted, tells: "the update failed in shoot--000/example; it goes on once the annotation trellis.network/rollout-resumed-at"},
		"not for what an earlier revision failed at": {others: []Phase{Failed}, change: func(_ *Policy, all []Member, _ *Member) { all[0].Record.Revision = "old" }},
		"not for a failure that is accepted":         {others: []Phase{Failed, ""}, change: func(_ *Policy, all []Member, _ *Member) { all[1].Resumed = noon }},
		"not for a failure that is paused":           {others: []Phase{Failed}, change: func(_ *Policy, all []Member, _ *Member) { all[0].Paused = true }},
		"a failure later than what is accepted":      {others: []Phase{Failed}, change: func(_ *Policy, all []Member, _ *Member) { all[0].Resumed = noon.Add(-time.Second) }, reason: RolloutHalted},
		"a failure that is accepted in the future":   {others: []Phase{Failed}, change: func(_ *Policy, all []Member, _ *Member) { all[0].Resumed = noon.Add(time.Hour) }, reason: RolloutHalted},
		"a canary's failure, though others may fail": {others: []Phase{Failed}, change: func(p *Policy, all []Member, _ *Member) {
			p.MaxFailures, all[0].Canary = intstr.FromInt32(5), true
		}, reason: RolloutHalted},
		"not for a failure that is tolerated": {others: []Phase{Failed}, change: func(p *Policy, _ []Member, _ *Member) { p.MaxFailures = intstr.FromInt32(1) }},
		"the operator's configuration":        {change: func(p *Policy, _ []Member, _ *Member) { p.Paused = true }, reason: RolloutPaused},
		"its own annotation":                  {change: func(_ *Policy, _ []Member, m *Member) { m.Paused, m.Urgent = true, true }, reason: NetworkPaused},
		"nothing if it is urgent": {others: []Phase{Failed, Progressing}, change: func(p *Policy, _ []Member, m *Member) {
			p.Paused, m.Urgent = true, true
		}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			p, others := policy(), membersIn(test.others...)
			p.MaxFailures = intstr.FromInt32(0)
			me := Member{Name: types.NamespacedName{Namespace: "shoot--me", Name: "example"}}
			if test.change != nil {
				test.change(&p, others, &me)
			}
			s := p.Assess(append(others, me), noon)
			verdict := s.Admit(&me)
			g.Expect(verdict.Reason).To(Equal(test.reason))
			g.Expect(verdict.Message).To(ContainSubstring(test.tells))
			g.Expect(verdict.Admits()).To(Equal(test.reason == ""))
		})
	}
}

// What is judged no more, because its shoot is left alone, does not hold up the others for ever.
func TestANetworkThatIsNotJudgedHoldsUpNoOther(t *testing.T) {
	g := NewWithT(t)
	p := policy()
	all := membersIn(Progressing, "")
	s := p.Assess(all, noon.Add(2*time.Hour-time.Second))
	g.Expect(s.Progressing).To(Equal(1))
	s = p.Assess(all, noon.Add(2*time.Hour))
	g.Expect(s.Progressing).To(BeZero())
	s = p.Assess(all, noon.AddDate(-1, 0, 0))
	g.Expect(s.Progressing).To(BeZero(), "a clock that was a year ahead")
}

func TestAMessageNamesFiveNetworks(t *testing.T) {
	g := NewWithT(t)
	p, all := policy(), membersIn(make([]Phase, 300)...)
	for i := range 8 {
		all[i].Record = &Record{Revision: "new", Phase: Failed, Since: metav1.NewTime(noon)}
	}
	s := p.Assess(all, noon)
	verdict := s.Admit(&all[100])
	g.Expect(verdict.Message).To(ContainSubstring("shoot--000/example, shoot--001/example, shoot--002/example, shoot--003/example, shoot--004/example, and 3 more"))
	g.Expect(strings.Count(verdict.Message, "shoot--")).To(Equal(5))
}
