// SPDX-License-Identifier: Apache-2.0

package connectivity

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	connectivityv1alpha1 "github.com/trellis-network/trellis/api/connectivity/v1alpha1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/internal/condition"
)

// unknown tells why the connectivity is unknown. missed are the nodes whose reports are missing.
func (o *observation) unknown(missed []string) (reason, message string) {
	if len(missed)*tolerance > o.expected {
		return ReasonTooFewReports, fmt.Sprintf("The connectivity is unknown: the probes of %d of %d nodes (%s) have not reported for %.0f minutes. "+
			"Their pods of the DaemonSet trellis-probe in kube-system do not run, or do not reach the API server.",
			len(missed), o.expected, named(missed), staleAfter.Minutes())
	}
	untested := ""
	if o.reporting > 0 && o.tested(connectivityv1alpha1.CheckPods) == 0 {
		untested = ", and none has tested pods on another node"
	}
	return ReasonNothingTested, fmt.Sprintf("The connectivity is unknown: the probes of %d of %d nodes have reported%s. "+
		"Those of new nodes, and of nodes that are about to go, may not report.%s", o.reporting, len(o.excused), untested, o.silentKubelets())
}

// silentKubelets names the nodes that are gone, after other sentences.
func (o *observation) silentKubelets() string {
	switch len(o.gone) {
	case 0:
		return ""
	case 1:
		return fmt.Sprintf(" Nothing has been heard of the node %s for %.0f minutes.", named(o.gone), goneAfter.Minutes())
	}
	return fmt.Sprintf(" Nothing has been heard of the nodes %s for %.0f minutes.", named(o.gone), goneAfter.Minutes())
}

// passed tells what pods reach.
func (o *observation) passed(all extensionsv1alpha1.ConnectivityResults, missed []string) string {
	var reached []string
	for _, each := range []struct {
		result *bool
		words  string
	}{{all.Pods, "pods on other nodes"}, {all.Nodes, "nodes"}, {all.Services, "Services"}, {all.DNS, "DNS"}} {
		if each.result != nil {
			reached = append(reached, each.words)
		}
	}
	of := fmt.Sprintf("the probes of %d nodes report", o.reporting)
	if o.reporting == 1 {
		of = "the probe of one node reports"
	}
	text := fmt.Sprintf("Pods reach %s, as %s.", listed(reached), of) + o.silentKubelets()
	switch len(missed) {
	case 0:
		return text
	case 1:
		return text + fmt.Sprintf(" The probe of the node %s does not report.", named(missed))
	}
	return text + fmt.Sprintf(" The probes of the nodes %s do not report.", named(missed))
}

// place is where tests fail.
type place struct {
	// nodes is how a sentence begins, and edges which of their edges fail.
	nodes, edges string
}

// explain names the nodes that tests fail on, each with these tests, and then the tests that fail
// no more.
func explain(results map[test]settled, failures map[test]failure, dual bool) string {
	var places []place
	failing, errors := map[place][]string{}, map[place]string{}
	var passing, silent []string
	for _, t := range tests {
		result := results[t]
		if result.result == nil || *result.result {
			continue
		}
		name := string(t.check)
		if dual {
			name += " over " + string(t.family)
		}
		f, fails := failures[t]
		switch {
		case fails:
			at := f.place(t)
			if failing[at] == nil {
				places, errors[at] = append(places, at), f.worst().result.Error
			}
			failing[at] = append(failing[at], name)
		case !result.passingSince.IsZero():
			passing = append(passing, name)
		default:
			silent = append(silent, name)
		}
	}
	var sentences []string
	for _, at := range places {
		sentence := fmt.Sprintf("%s: %s %s", at.nodes, said(failing[at], "fails", "fail"), at.edges)
		if len(failing[at]) == 1 && errors[at] != "" {
			sentence += ", " + short(errors[at])
		}
		sentences = append(sentences, sentence)
	}
	if len(passing) > 0 {
		sentences = append(sentences, fmt.Sprintf("By now %s again, which must last for %v", said(passing, "passes", "pass"), repairThreshold))
	}
	if len(silent) > 0 {
		sentences = append(sentences, fmt.Sprintf("Too few recent reports tell whether %s", said(silent, "still fails", "still fail")))
	}
	return strings.Join(sentences, ". ") + "."
}

// said returns tests as the subject of a verb, and the verb.
func said(tests []string, verbOfOne, verbOfMany string) string {
	if len(tests) == 1 {
		return "the test " + tests[0] + " " + verbOfOne
	}
	return "the tests " + listed(tests) + " " + verbOfMany
}

// place returns where a test fails, as it is told.
func (f failure) place(t test) place {
	worst := f.worst()
	one, two := short(worst.node), short(worst.result.Name)
	if !t.ofNodes() {
		nodes := map[string]bool{}
		for i := range f.edges {
			nodes[f.edges[i].node] = true
		}
		return place{nodesNamed(nodes), "there"}
	}
	if f.isPair() {
		return place{"Nodes " + min(one, two) + " and " + max(one, two), "between them"}
	}
	if len(f.nodes) > 0 {
		return place{nodesNamed(f.nodes), "from and to other nodes"}
	}
	edges := "from there to the node " + two
	switch others := len(f.edges) - 1; others {
	case 0:
	case 1:
		edges += ", and between another pair"
	default:
		edges += fmt.Sprintf(", and between %d more pairs", others)
	}
	return place{"Node " + one, edges}
}

// worst returns the edge that has been failing for longest.
func (f failure) worst() failingEdge {
	return slices.MaxFunc(f.edges, func(a, b failingEdge) int {
		return cmp.Or(cmp.Compare(a.lasting, b.lasting), cmp.Compare(b.node, a.node), cmp.Compare(b.result.Name, a.result.Name))
	})
}

// isPair reports whether two nodes say of each other that they do not reach them, and there is no
// other failing edge.
func (f failure) isPair() bool {
	first, back := f.edges[0], false
	if first.node == first.result.Name {
		return false
	}
	for i := range f.edges {
		e := &f.edges[i]
		same, reverse := e.node == first.node && e.result.Name == first.result.Name, e.node == first.result.Name && e.result.Name == first.node
		if !same && !reverse {
			return false
		}
		back = back || reverse
	}
	return back
}

// nodesNamed begins a sentence with nodes.
func nodesNamed(nodes map[string]bool) string {
	names := slices.Sorted(maps.Keys(nodes))
	if len(names) == 1 {
		return "Node " + named(names)
	}
	return "Nodes " + named(names)
}

// named lists the first names, and how many more there are.
func named(names []string) string {
	var shown []string
	for _, name := range names[:min(len(names), maxNamed)] {
		shown = append(shown, short(name))
	}
	if more := len(names) - len(shown); more > 0 {
		shown = append(shown, fmt.Sprintf("%d more", more))
	}
	return listed(shown)
}

// listed joins words as in a sentence.
func listed(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " and " + words[len(words)-1]
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
