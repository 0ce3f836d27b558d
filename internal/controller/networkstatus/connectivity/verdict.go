// SPDX-License-Identifier: Apache-2.0

// Package connectivity reports whether pods of a shoot reach each other, nodes, Services and DNS:
// the condition PodNetworkAvailable, and connectivityTests and networkModules of the
// providerStatus. It finds that from what the probes in the shoot have reported
// (api/connectivity), and from its nodes.
//
// Examine is a pure function of the evidence, of what it found before, and of the time.
// thresholds.go has from when on something counts, and why. Source is what the writer of the
// status calls.
//
// The package does not know whether the network's components are healthy.
package connectivity

import (
	"time"

	"k8s.io/utils/ptr"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
)

// The reasons of the condition PodNetworkAvailable.
const (
	// ReasonPassed goes with True: all tests of which enough is known pass.
	ReasonPassed = "ConnectivityTestsPassed"
	// ReasonFailed goes with False: at least one test fails.
	ReasonFailed = "ConnectivityTestsFailed"
	// ReasonTooFewReports goes with Unknown: too many nodes have not reported recently.
	ReasonTooFewReports = "TooFewReports"
	// ReasonNothingTested goes with Unknown: there are reports, but no other node was tested.
	ReasonNothingTested = "NothingTested"
	// ReasonUnreachable goes with Unknown: the shoot cannot be observed.
	ReasonUnreachable = "ShootNotObserved"
)

// Verdict is what is known of the connectivity of a network.
type Verdict struct {
	// Status is True, False or Unknown. Reason is one of the constants, and Message names for
	// users what fails, or why it is unknown. A message is not stable.
	Status          corev1beta1.ConditionStatus
	Reason, Message string
	// Tests are the results, nil if none is known.
	Tests *extensionsv1alpha1.ConnectivityTests
	// ARPProxy reports whether the pods on all nodes rely on proxy ARP, nil if no probe could read it.
	ARPProxy *bool
	// Passing and Failing are the numbers of edges.
	Passing, Failing int
	// Again is when the verdict may change without new evidence. It is never zero.
	Again time.Duration
	// results are those of each test.
	results map[test]settled
}

// Memory is what the next verdict depends on beside its evidence. The zero Memory has no past.
type Memory struct {
	seen  map[string]sighting
	tests map[test]settled
	// told are the results that the status has. Examine does not change them.
	told map[test]settled
	// latest is when the latest report was seen.
	latest time.Time
	// keptUntil is until when results stay without evidence, whatever the age of reports.
	keptUntil time.Time
}

// settled is the result of a test. A failure counts at once; that the test is unknown, or passes
// again after its failure was told, only after a while.
type settled struct {
	result *bool // nil if unknown
	// passingSince and unknownSince are since when the evidence has been of another opinion.
	passingSince, unknownSince time.Time
}

// next returns the result after new evidence, which shows true, false or nothing, and how long
// it takes until that becomes the result.
func (s settled) next(shows *bool, now time.Time) (settled, time.Duration) {
	switch {
	case shows == nil && s.result == nil:
		return settled{}, 0
	case shows == nil:
		since := s.unknownSince
		if since.IsZero() {
			since = now
		}
		if wait := unknownThreshold - now.Sub(since); wait > 0 {
			return settled{result: s.result, unknownSince: since}, wait
		}
		return settled{}, 0
	case !*shows || s.result == nil || *s.result:
		return settled{result: shows}, 0
	}
	since := s.passingSince
	if since.IsZero() {
		since = now
	}
	if wait := repairThreshold - now.Sub(since); wait > 0 {
		return settled{result: s.result, passingSince: since}, wait
	}
	return settled{result: shows}, 0
}

// Examine finds the verdict of the evidence at a time. before is the Memory of the last verdict
// about the same shoot; it stays as it is.
func Examine(evidence Evidence, before Memory, now time.Time) (Verdict, Memory) {
	after := Memory{seen: see(evidence.Reports, before, now), tests: map[test]settled{}, told: before.told, keptUntil: before.keptUntil}
	o := observe(evidence, after.seen, now)
	if o.latest.Before(before.latest) {
		o.latest = before.latest
	}
	after.latest = o.latest
	next := o.next
	next.after(period)

	failures := map[test]failure{}
	blamed, silenced := map[string]bool{}, false
	for _, t := range tests {
		found := o.fails(t, silenced)
		if len(found.nodes)+len(found.edges) > 0 {
			failures[t] = found
		}
		for node := range found.nodes {
			blamed[node] = true
			silenced = silenced || after.seen[node].at.Before(now.Add(-found.worst().lasting))
		}
	}
	missed := o.missed(blamed)
	enough := len(missed)*tolerance <= o.expected
	// New nodes are not missed, but a first result is about more than a few nodes of a new cluster.
	first := enough && 2*o.awaited <= o.expected+len(o.joining)
	for _, t := range tests {
		var shows *bool
		if _, fails := failures[t]; fails {
			shows = ptr.To(false)
		} else if o.tests[t].edges > 0 && (first || enough && before.tests[t].result != nil) {
			shows = ptr.To(true)
		}
		result, wait := before.tests[t], before.keptUntil.Sub(now)
		switch {
		case ptr.Deref(shows, false) && ptr.Deref(before.told[t].result, false):
			result, wait = settled{result: shows}, 0 // whatever failed in between was not told
		case shows != nil || wait <= 0:
			result, wait = result.next(shows, now)
		}
		next.after(wait)
		if result.result != nil {
			after.tests[t] = result
		}
	}
	verdict := o.verdict(after.tests, failures, missed)
	verdict.Again = time.Duration(next)
	return verdict, after
}

// failure is why a test fails: the nodes to blame, and the edges that show it.
type failure struct {
	nodes map[string]bool
	edges []failingEdge
}

// missed returns the nodes that are silent without failing: of one that fails, peers tell more.
func (o *observation) missed(blamed map[string]bool) (missed []string) {
	for _, node := range o.silent {
		if !blamed[node] {
			missed = append(missed, node)
		}
	}
	return missed
}
