// SPDX-License-Identifier: Apache-2.0

package connectivity

import (
	"cmp"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	connectivityv1alpha1 "github.com/trellis-network/trellis/api/connectivity/v1alpha1"
	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
)

// verdict puts results into figures and words. missed are the nodes whose reports are missing.
func (o *observation) verdict(results map[test]settled, failures map[test]failure, missed []string) Verdict {
	v := Verdict{ARPProxy: o.arpProxy, results: results}
	var failing []failingEdge
	for _, t := range tests {
		v.Passing += o.tests[t].edges - len(o.tests[t].failing)
		v.Failing += len(o.tests[t].failing)
		failing = append(failing, o.tests[t].failing...)
	}
	all, each := merged(results)
	if len(results) > 0 {
		v.Tests = &extensionsv1alpha1.ConnectivityTests{ConnectivityResults: all, Summary: o.summary(v, failing)}
		if len(each) > 1 {
			v.Tests.Families = each
		}
	}
	fails := func(t test) bool { return results[t].result != nil && !*results[t].result }
	others := o.reporting > 1 || o.expected+len(o.joining)+len(o.gone) > 1
	switch {
	case slices.ContainsFunc(tests, fails):
		v.Status, v.Reason, v.Message = corev1beta1.ConditionFalse, ReasonFailed, explain(results, failures, len(each) > 1)
	case len(results) == 0 || others && all.Pods == nil:
		v.Status = corev1beta1.ConditionUnknown
		v.Reason, v.Message = o.unknown(missed)
	default:
		v.Status, v.Reason, v.Message = corev1beta1.ConditionTrue, ReasonPassed, o.passed(all, missed)
	}
	return v
}

// merged returns the results of all families together, and of each family that has any.
func merged(results map[test]settled) (all extensionsv1alpha1.ConnectivityResults, each map[extensionsv1alpha1.IPFamily]extensionsv1alpha1.ConnectivityResults) {
	each = map[extensionsv1alpha1.IPFamily]extensionsv1alpha1.ConnectivityResults{}
	for _, t := range tests {
		if results[t].result == nil {
			continue
		}
		passes := *results[t].result
		family := extensionsv1alpha1.IPFamily(t.family)
		of := each[family]
		*field(&of, t.check) = ptr.To(passes)
		each[family] = of
		together := field(&all, t.check)
		*together = ptr.To(passes && ptr.Deref(*together, true))
	}
	return all, each
}

// field returns where the result of a check belongs.
func field(results *extensionsv1alpha1.ConnectivityResults, check connectivityv1alpha1.CheckType) **bool {
	switch check {
	case connectivityv1alpha1.CheckPods:
		return &results.Pods
	case connectivityv1alpha1.CheckNodes:
		return &results.Nodes
	case connectivityv1alpha1.CheckServices:
		return &results.Services
	}
	return &results.DNS
}

func (o *observation) summary(v Verdict, failing []failingEdge) *extensionsv1alpha1.ConnectivitySummary {
	summary := &extensionsv1alpha1.ConnectivitySummary{
		Nodes: int32(o.reporting), Edges: int32(v.Passing + v.Failing), PassingPercent: 100,
		Evidence: metav1.NewTime(o.latest.UTC().Truncate(evidenceStep)),
	}
	if edges := v.Passing + v.Failing; edges > 0 {
		summary.PassingPercent = int32(int64(v.Passing) * 100 / int64(edges))
	}
	slices.SortFunc(failing, func(a, b failingEdge) int {
		return cmp.Or(cmp.Compare(b.lasting, a.lasting), cmp.Compare(a.node, b.node), cmp.Compare(a.check, b.check),
			cmp.Compare(a.family, b.family), cmp.Compare(a.result.Name, b.result.Name))
	})
	for _, e := range failing[:min(len(failing), maxWorst)] {
		worst := extensionsv1alpha1.FailingEdge{
			Node: short(e.node), Target: short(e.result.Name), Test: string(e.check),
			Family: extensionsv1alpha1.IPFamily(e.family), Error: short(e.result.Error),
		}
		// A clock that is ahead, or a hostile probe, states any time.
		if last := e.result.LastSuccess; last != nil && last.Year() > 2000 && !last.After(o.latest.Add(time.Minute)) {
			worst.LastSuccess = ptr.To(metav1.NewTime(last.UTC().Truncate(time.Minute)))
		}
		summary.Worst = append(summary.Worst, worst)
	}
	return summary
}
