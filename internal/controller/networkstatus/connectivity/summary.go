// SPDX-License-Identifier: Apache-2.0

package connectivity

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	connectivityv1alpha1 "github.com/trellis-network/trellis/api/connectivity/v1alpha1"
	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/internal/condition"
)

// verdict puts results into words and figures. missed are the nodes whose reports are missing.
func (o *observation) verdict(results map[test]settled, failures map[test]failure, missed []string) Verdict {
	v := Verdict{ARPProxy: o.arpProxy}
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
	dual := len(each) > 1
	others := o.reporting > 1 || o.expected+len(o.joining) > 1
	untested := ""
	if !slices.ContainsFunc(tests, func(t test) bool { return t.check == connectivityv1alpha1.CheckPods && o.tests[t].edges > 0 }) {
		untested = ", and none has tested pods on another node"
	}
	switch {
	case slices.ContainsFunc(tests, func(t test) bool { return results[t].result != nil && !*results[t].result }):
		v.Status, v.Reason, v.Message = corev1beta1.ConditionFalse, ReasonFailed, explain(results, failures, dual)
	case len(missed)*tolerance > o.expected && len(results) == 0:
		v.Status, v.Reason = corev1beta1.ConditionUnknown, ReasonTooFewReports
		v.Message = fmt.Sprintf("The connectivity is unknown: %d of %d nodes have not reported it for %v (%s). Their pods of the DaemonSet trellis-probe in kube-system do not run, or do not reach the API server.", len(missed), o.expected, staleAfter, named(missed))
	case len(results) == 0 || others && all.Pods == nil:
		v.Status, v.Reason = corev1beta1.ConditionUnknown, ReasonNothingTested
		v.Message = fmt.Sprintf("The connectivity is unknown: of %d nodes, %d have reported recently%s. New nodes, and those that are about to go, may not report.", len(o.excused), o.reporting, untested)
	default:
		v.Status, v.Reason = corev1beta1.ConditionTrue, ReasonPassed
		of := fmt.Sprintf("the probes of %d nodes report", o.reporting)
		if o.reporting == 1 {
			of = "the probe of one node reports"
		}
		v.Message = fmt.Sprintf("Pods reach %s, as %s.", passing(all), of)
		if len(missed) > 0 {
			v.Message += fmt.Sprintf(" Nothing is known of %s.", named(missed))
		}
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

// passing lists the tests that pass.
func passing(all extensionsv1alpha1.ConnectivityResults) string {
	var words []string
	for _, check := range checks {
		if ptr.Deref(*field(&all, check), false) {
			words = append(words, string(check))
		}
	}
	return strings.Join(words, ", ")
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

// explain names for each test that fails the nodes to blame or, without one, the edge that has been
// failing for longest.
func explain(results map[test]settled, failures map[test]failure, dual bool) string {
	var parts []string
	for _, t := range tests {
		if result := results[t].result; result == nil || *result {
			continue
		}
		name := string(t.check)
		if dual {
			name += " over " + string(t.family)
		}
		parts = append(parts, name+": "+failures[t].String())
	}
	return "Pods do not reach " + strings.Join(parts, "; ") + "."
}

// String describes a failure for users.
func (f failure) String() string {
	if len(f.nodes) > 0 {
		word := "from or to the node "
		if len(f.nodes) > 1 {
			word = "from or to the nodes "
		}
		return word + named(slices.Sorted(maps.Keys(f.nodes)))
	}
	if len(f.edges) == 0 {
		return "passes again, which must last"
	}
	worst := slices.MaxFunc(f.edges, func(a, b failingEdge) int {
		return cmp.Or(cmp.Compare(a.lasting, b.lasting), cmp.Compare(b.node, a.node), cmp.Compare(b.result.Name, a.result.Name))
	})
	text := fmt.Sprintf("%s from the node %s", short(worst.result.Name), short(worst.node))
	if others := len(f.edges) - 1; others > 0 {
		text += fmt.Sprintf(" (and %d more pairs)", others)
	}
	if worst.result.Error != "" {
		text += ", " + short(worst.result.Error)
	}
	return text
}

// named lists the first names, and how many more there are.
func named(names []string) string {
	var listed []string
	for _, name := range names[:min(len(names), maxNamed)] {
		listed = append(listed, short(name))
	}
	if more := len(names) - len(listed); more > 0 {
		listed = append(listed, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(listed, ", ")
}

// short returns a text of a shoot without what cannot be printed, cut.
func short(text string) string {
	return condition.Shorten(strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) || r == unicode.ReplacementChar {
			return -1
		}
		return r
	}, text), maxText)
}
