// SPDX-License-Identifier: Apache-2.0

package connectivity

import (
	"reflect"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/utils/ptr"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/internal/controller/networkstatus/source"
	"github.com/trellis-network/trellis/internal/times"
)

// The keys of the providerStatus.
const (
	// TestsKey is that of extensionsv1alpha1.ConnectivityTests.
	TestsKey = "connectivityTests"
	// ModulesKey is that of extensionsv1alpha1.NetworkModules.
	ModulesKey = "networkModules"
)

// published is the verdict that the status has, and when another may take its place.
type published struct {
	verdict Verdict
	// changed is since when the verdicts that are found differ from it, and turned since when they have
	// other results that are to be gathered for as long as gathers; zero if the last one does not.
	changed, turned time.Time
	gathers         time.Duration
	// paid is until when writes are used up, of which there is one in a writePeriod.
	paid time.Time
}

// next returns what the status must have after another verdict, and when it is due that it has that
// one; 0 if it has it, or one that is nearly the same. Other results wait until they are gathered,
// other figures and texts for a writePeriod. Results may be written a writePeriod ahead of what is
// paid, that all tests pass again two, and figures not.
func (p published) next(v Verdict, now time.Time) (published, time.Duration) {
	if p.verdict.Status == "" {
		return published{verdict: v, paid: now.Add(writePeriod)}, 0
	}
	switch gathers := gathering(p.verdict, v); {
	case sameResults(p.verdict, v):
		p.turned = time.Time{}
	case p.turned.IsZero() || p.gathers != gathers:
		p.turned, p.gathers = now, gathers
	}
	switch {
	case p.turned.IsZero() && nearlySame(p.verdict, v):
		p.changed = time.Time{}
		return p, 0
	case p.changed.IsZero():
		p.changed = now
	}
	// The clock may have been set back.
	p.turned, p.changed = times.Earlier(p.turned, now), times.Earlier(p.changed, now.Add(restartPeriod-writePeriod))
	p.paid = times.Earlier(p.paid, now.Add(3*writePeriod))
	due := times.Later(p.changed.Add(writePeriod), p.paid)
	if !p.turned.IsZero() {
		ahead := writePeriod
		if v.Status == corev1beta1.ConditionTrue {
			ahead = 2 * writePeriod // that a test fails, and then another one, must not put off that all pass
		}
		due = times.Later(p.turned.Add(p.gathers), p.paid.Add(-ahead))
	}
	if due.After(now) {
		return p, due.Sub(now)
	}
	return published{verdict: v, paid: times.Later(p.paid, now).Add(writePeriod)}, 0
}

// gathering is how long other results wait for more of them.
func gathering(before, v Verdict) time.Duration {
	if v.Tests == nil {
		return 0 // none will follow
	}
	allPass := true
	for _, check := range checks {
		result := *field(&v.Tests.ConnectivityResults, check)
		allPass = allPass && ptr.Deref(result, false)
		if fails := !ptr.Deref(result, true); fails && (before.Tests == nil || ptr.Deref(*field(&before.Tests.ConnectivityResults, check), true)) {
			if before.Status == corev1beta1.ConditionFalse {
				return gatherMore
			}
			return gatherFailures
		}
	}
	if allPass {
		return 0
	}
	return gatherOthers
}

// sameResults reports whether two verdicts have the same results, whatever their figures.
func sameResults(a, b Verdict) bool {
	if a.Status != b.Status || a.Reason != b.Reason || (a.Tests == nil) != (b.Tests == nil) {
		return false
	}
	return a.Tests == nil || reflect.DeepEqual(a.Tests.ConnectivityResults, b.Tests.ConnectivityResults) &&
		reflect.DeepEqual(a.Tests.Families, b.Tests.Families)
}

// nearlySame reports whether the figures of two verdicts with the same results are the same but
// for the number of edges, which changes with every peer that is tested in turn.
func nearlySame(a, b Verdict) bool {
	if a.Message != b.Message || !reflect.DeepEqual(a.ARPProxy, b.ARPProxy) {
		return false
	}
	if a.Tests == nil {
		return true
	}
	one, two := *a.Tests.Summary, *b.Tests.Summary
	if difference := one.Edges - two.Edges; 10*max(difference, -difference) < max(one.Edges, 1) {
		two.Edges = one.Edges
	}
	return equality.Semantic.DeepEqual(one, two) // of a time, what was read and what was found may have other zones
}

// report returns what the writer of the status gets, and when it must ask again.
func (p published) report(again time.Duration) source.Report {
	v := p.verdict
	report := source.Report{
		Conditions: []corev1beta1.Condition{{
			Type: extensionsv1alpha1.PodNetworkAvailable, Status: v.Status, Reason: v.Reason, Message: v.Message,
		}},
		ProviderStatus: map[string]any{},
		RequeueAfter:   again,
	}
	if v.Tests != nil {
		report.ProviderStatus[TestsKey] = v.Tests
	}
	if v.ARPProxy != nil {
		report.ProviderStatus[ModulesKey] = extensionsv1alpha1.NetworkModules{ARPProxy: v.ARPProxy}
	}
	return report
}
