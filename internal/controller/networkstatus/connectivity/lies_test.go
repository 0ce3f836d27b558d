// SPDX-License-Identifier: Apache-2.0

package connectivity

import (
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	connectivityv1alpha1 "github.com/trellis-network/trellis/api/connectivity/v1alpha1"
	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
)

// lies are reports of three nodes in which all targets of one test have been failing for an hour,
// of another test every third second, and the texts are others each second. That suffices for a
// test to pass again in between. Nodes that do not exist report as well.
func lies(second int, now time.Time) (evidence Evidence) {
	evidence.Nodes = oldNodes("one", "two", "three")
	names := []string{"one", "two", "three"}
	for i := range 1000 {
		names = append(names, fmt.Sprintf("\x1b[2J%d", i))
	}
	for i, name := range names {
		report := connectivityv1alpha1.NodeConnectivity{ObjectMeta: metav1.ObjectMeta{Name: name}}
		report.Report.Time = metav1.NewTime(now)
		for number, t := range tests {
			result := connectivityv1alpha1.Result{Name: names[(i+1)%3]}
			if second%24 == 3*number {
				result.ConsecutiveFailures, result.FailingSince = 1000, new(metav1.NewTime(now.Add(-time.Hour)))
				result.Error = fmt.Sprintf("\x1b]0;owned\a%d", second)
			}
			report.Report.Checks = append(report.Report.Checks, connectivityv1alpha1.Check{
				Family: t.family, Type: t.check, Results: []connectivityv1alpha1.Result{result, result},
			})
		}
		evidence.Reports = append(evidence.Reports, report)
	}
	return evidence
}

// A shoot whose probes say something else each second has its status written once a minute, and its
// last word is told.
func TestLiesThatChangeAreWrittenRarely(t *testing.T) {
	g := NewWithT(t)
	var memory Memory
	var told published
	var v Verdict
	var writes []time.Time
	now := noon
	pass := func(evidence Evidence) {
		paid := told.paid
		v, memory = Examine(evidence, memory, now)
		if told, _ = told.next(v, now); !told.paid.Equal(paid) {
			writes = append(writes, now)
		}
		now = now.Add(time.Second)
	}
	for second := range 600 {
		pass(lies(second, now))
	}
	expectOneAMinute(g, writes)
	g.Expect(len(writes)).To(BeNumerically(">=", 10), "what probes say at the end of each minute is told")
	for range 2 * 60 {
		pass(lies(1, now)) // nothing fails
	}
	g.Expect(v.Status).To(Equal(corev1beta1.ConditionTrue))
	g.Expect(sameResults(told.verdict, v)).To(BeTrue())
}
