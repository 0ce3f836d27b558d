// SPDX-License-Identifier: Apache-2.0

package connectivity

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	connectivityv1alpha1 "github.com/trellis-network/trellis/api/connectivity/v1alpha1"
)

// Evidence is what a verdict is found from. It is not changed.
type Evidence struct {
	Reports []connectivityv1alpha1.NodeConnectivity
	Nodes   []corev1.Node
}

// test is one test in one family.
type test struct {
	family connectivityv1alpha1.IPFamily
	check  connectivityv1alpha1.CheckType
}

// ofNodes reports whether the targets of a test are nodes.
func (t test) ofNodes() bool {
	return t.check == connectivityv1alpha1.CheckPods || t.check == connectivityv1alpha1.CheckNodes
}

// families and checks are those that a verdict is about, in the order in which they are told. What
// is outside of the cluster is not the network's.
var (
	families = []connectivityv1alpha1.IPFamily{connectivityv1alpha1.IPv4, connectivityv1alpha1.IPv6}
	checks   = []connectivityv1alpha1.CheckType{
		connectivityv1alpha1.CheckPods, connectivityv1alpha1.CheckNodes, connectivityv1alpha1.CheckServices, connectivityv1alpha1.CheckDNS,
	}
	tests = func() (all []test) {
		for _, family := range families {
			for _, check := range checks {
				all = append(all, test{family, check})
			}
		}
		return all
	}()
)

// failingEdge is a target that a probe does not reach.
type failingEdge struct {
	test
	node   string
	result *connectivityv1alpha1.Result
	// lasting is how long it has been failing.
	lasting time.Duration
}

// count is the number of edges, and of those that are failing for nodeThreshold.
type count struct{ edges, failing int }

func (c count) mostFail() bool { return c.failing >= minEdges && 2*c.failing >= c.edges }

// worseThan reports whether a greater share fails.
func (c count) worseThan(other count) bool { return c.failing*other.edges > other.failing*c.edges }

func (c *count) add(fails bool) {
	c.edges++
	if fails {
		c.failing++
	}
}

func (c count) plus(other count) count {
	return count{c.edges + other.edges, c.failing + other.failing}
}

// tally is what recent reports say of one test.
type tally struct {
	edges   int
	failing []failingEdge
	// all are the edges of all nodes. to are those that lead to a node, and from those that start
	// at one.
	all      count
	to, from map[string]count
}

// observation is what recent reports say.
type observation struct {
	nodes
	tests map[test]*tally
	// silent are the nodes that are expected to report and do not, awaited the number of new ones
	// that do not yet, and reporting the number of nodes that do.
	silent             []string
	awaited, reporting int
	// latest is when the latest report was seen, and next when an edge passes a threshold.
	latest time.Time
	next   deadline
	// arpProxy is what the probes have read, nil if none has.
	arpProxy *bool
}

// sighting is when a report was seen first, by the operator's clock.
type sighting struct {
	// report and former are the times of the report and of the one before, by the node's clock.
	// former is zero if it was not seen.
	report, former time.Time
	at             time.Time
}

// see returns when each report was seen. A report that was there before this operator was is as
// old as it states. If it states a time to come, its age is unknown, and as long as results are kept
// without evidence it is none.
func see(reports []connectivityv1alpha1.NodeConnectivity, before Memory, now time.Time) map[string]sighting {
	restored := before.seen == nil && !before.keptUntil.IsZero()
	seen := make(map[string]sighting, len(reports))
	for i := range reports {
		name, stated := reports[i].Name, reports[i].Report.Time.Time
		last, known := before.seen[name]
		switch {
		case known && last.report.Equal(stated):
			seen[name] = last
		case known || stated.After(now) && !restored:
			seen[name] = sighting{stated, last.report, now}
		case stated.After(now):
			seen[name] = sighting{report: stated}
		default:
			seen[name] = sighting{report: stated, at: stated}
		}
	}
	return seen
}

// observe examines the reports that are not stale. Reports that are later than others count alike.
func observe(evidence Evidence, seen map[string]sighting, now time.Time) *observation {
	o := &observation{nodes: classify(evidence.Nodes, now), tests: map[test]*tally{}}
	for _, t := range tests {
		o.tests[t] = &tally{to: map[string]count{}, from: map[string]count{}}
	}
	reported := make(map[string]bool, len(evidence.Reports))
	for i := range evidence.Reports {
		name, report := evidence.Reports[i].Name, &evidence.Reports[i].Report
		at := seen[name].at
		if _, exists := o.excused[name]; !exists || now.Sub(at) > staleAfter {
			continue
		}
		reported[name] = true
		o.reporting++
		if at.After(o.latest) {
			o.latest = at
		}
		o.add(name, report, seen[name], now)
	}
	for i := range evidence.Nodes {
		switch name := evidence.Nodes[i].Name; {
		case reported[name]:
		case !o.excused[name]:
			o.silent = append(o.silent, name)
		case o.joining[name]:
			o.awaited++
		}
	}
	slices.Sort(o.silent) // a cache lists in any order
	return o
}

// add adds the report of a node.
func (o *observation) add(node string, report *connectivityv1alpha1.Report, seen sighting, now time.Time) {
	if read := report.PodInterface; read != nil && read.ProxyARP != nil {
		all := *read.ProxyARP && (o.arpProxy == nil || *o.arpProxy)
		o.arpProxy = &all
	}
	for i := range report.Checks {
		check := &report.Checks[i]
		t := test{check.Family, check.Type}
		tally := o.tests[t]
		if tally == nil {
			continue
		}
		for j := range check.Results {
			o.addResult(tally, failingEdge{t, node, &check.Results[j], seen.lasting(&check.Results[j], now)})
		}
	}
}

func (o *observation) addResult(tally *tally, e failingEdge) {
	excused := o.excuses(e.node, e.result)
	if e.ofNodes() {
		if _, exists := o.excused[e.result.Name]; !exists {
			return // deleted
		}
		excused = excused || o.excuses(e.result.Name, e.result)
	}
	fails := e.result.ConsecutiveFailures >= connectivityv1alpha1.FailingThreshold
	if fails && excused {
		return
	}
	tally.edges++
	if fails {
		tally.failing = append(tally.failing, e)
		o.next.after(nodeThreshold - e.lasting)
		o.next.after(pairThreshold - e.lasting)
	}
	lasting := fails && e.lasting >= nodeThreshold
	tally.all.add(lasting)
	from := tally.from[e.node]
	from.add(lasting)
	tally.from[e.node] = from
	if e.ofNodes() && e.result.Name != e.node {
		to := tally.to[e.result.Name]
		to.add(lasting)
		tally.to[e.result.Name] = to
	}
}

// lasting returns how long a target has been failing: until the report by the node's clock, and
// since by the operator's. What should have been in the former report, or in one since, counts
// from this one: the node was cut off itself, and begins to tell of it when it no longer is.
func (s sighting) lasting(r *connectivityv1alpha1.Result, now time.Time) time.Duration {
	since := now.Sub(s.at)
	if r.FailingSince == nil {
		return since
	}
	until := max(0, min(s.report.Sub(r.FailingSince.Time), time.Hour))
	if until > withheldAfter && !s.former.IsZero() && r.FailingSince.After(s.former) {
		return since
	}
	return until + since
}

// fails returns the nodes that fail a test, with the edges that show it; or without a node to
// blame the edges that have been failing for so long, or are so many, that the test fails. Where a
// node fails that has not reported since, what it serves is beyond it: Services and DNS then need no
// more time than the node.
func (o *observation) fails(t test, silenced bool) failure {
	tally := o.tests[t]
	blamed := map[string]bool{}
	for i := range tally.failing {
		e := &tally.failing[i]
		if !t.ofNodes() || e.lasting < nodeThreshold {
			continue
		}
		source, target := e.node, e.result.Name
		toSource, toTarget := o.toNode(t, source), o.toNode(t, target)
		switch {
		case toSource.mostFail() && toSource.worseThan(toTarget):
			blamed[source] = true
		case tally.to[target].mostFail() || toTarget.mostFail():
			blamed[target] = true
		case tally.from[source].mostFail():
			blamed[source] = true
		}
	}
	threshold := pairThreshold
	if len(blamed) > 0 || silenced && !t.ofNodes() || tally.all.mostFail() {
		threshold = nodeThreshold
	}
	var edges []failingEdge
	for i := range tally.failing {
		if tally.failing[i].lasting >= threshold {
			edges = append(edges, tally.failing[i])
		}
	}
	return failure{blamed, edges}
}

// tested returns how many edges of a test there are in all families.
func (o *observation) tested(check connectivityv1alpha1.CheckType) (edges int) {
	for _, family := range families {
		edges += o.tests[test{family, check}].edges
	}
	return edges
}

// toNode counts the edges to a node of both tests of nodes: in a cluster of two there is one of
// each.
func (o *observation) toNode(t test, node string) (all count) {
	for _, check := range []connectivityv1alpha1.CheckType{connectivityv1alpha1.CheckPods, connectivityv1alpha1.CheckNodes} {
		all = all.plus(o.tests[test{t.family, check}].to[node])
	}
	return all
}

// deadline is the shortest of some times; zero means none.
type deadline time.Duration

func (d *deadline) after(wait time.Duration) {
	if wait > 0 && (*d == 0 || wait < time.Duration(*d)) {
		*d = deadline(wait)
	}
}
