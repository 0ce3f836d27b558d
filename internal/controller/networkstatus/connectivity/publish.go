// SPDX-License-Identifier: Apache-2.0

package connectivity

import (
	"reflect"
	"time"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/internal/controller/networkstatus/source"
)

// The keys of the providerStatus.
const (
	// TestsKey is that of extensionsv1alpha1.ConnectivityTests.
	TestsKey = "connectivityTests"
	// ModulesKey is that of extensionsv1alpha1.NetworkModules.
	ModulesKey = "networkModules"
)

// published is the verdict that the status has, and since when.
type published struct {
	verdict Verdict
	at      time.Time
	// turns is the number of verdicts with other results that were published since began.
	turns int
	began time.Time
}

// next returns what the status must have after another verdict. Other results are published at
// once, but no more than maxTurns times a minute; other figures and texts only a while after the
// last change, and never if they are nearly the same.
func (p published) next(v Verdict, now time.Time) published {
	switch {
	case p.at.IsZero() || !sameResults(p.verdict, v):
		if now.Sub(p.began) >= figuresPeriod {
			p.turns, p.began = 0, now
		}
		if p.turns == maxTurns {
			return p
		}
		return published{v, now, p.turns + 1, p.began}
	case now.Sub(p.at) >= figuresPeriod && !nearlySame(p.verdict, v):
		return published{v, now, p.turns, p.began}
	}
	return p
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
	return reflect.DeepEqual(one, two)
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
