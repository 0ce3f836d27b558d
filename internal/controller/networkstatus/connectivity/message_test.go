// SPDX-License-Identifier: Apache-2.0

package connectivity

import (
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	connectivityv1alpha1 "github.com/trellis-network/trellis/api/connectivity/v1alpha1"
)

// reports are those of some nodes at noon, each of which tests all others and DNS. failing has for how
// long an edge fails that is written as "pods a>b" or "dns a".
func reports(names []string, failing map[string]time.Duration) Evidence {
	evidence := Evidence{Nodes: oldNodes(names...)}
	for _, name := range names {
		made := reportAbout(name, noon, connectivityv1alpha1.CheckDNS, resultOf("trellis-probe.kube-system.svc", failing["dns "+name]))
		for _, check := range []connectivityv1alpha1.CheckType{connectivityv1alpha1.CheckPods, connectivityv1alpha1.CheckNodes} {
			of := connectivityv1alpha1.Check{Family: "IPv4", Type: check}
			for _, other := range names {
				if other != name {
					of.Results = append(of.Results, resultOf(other, failing[fmt.Sprintf("%s %s>%s", check, name, other)]))
				}
			}
			made.Report.Checks = append(made.Report.Checks, of)
		}
		evidence.Reports = append(evidence.Reports, made)
	}
	return evidence
}

func resultOf(target string, fails time.Duration) connectivityv1alpha1.Result {
	if fails == 0 {
		return connectivityv1alpha1.Result{Name: target}
	}
	return failingFor(target, fails)
}

// cutOff are the edges from and to a node.
func cutOff(node string, others ...string) map[string]time.Duration {
	failing := map[string]time.Duration{}
	for _, other := range others {
		for _, check := range []string{"pods", "nodes"} {
			failing[fmt.Sprintf("%s %s>%s", check, node, other)] = time.Minute
			failing[fmt.Sprintf("%s %s>%s", check, other, node)] = time.Minute
		}
	}
	return failing
}

func TestMessagesNameTheNodesAndWhatFailsThere(t *testing.T) {
	two, three, four := []string{"a", "b"}, []string{"a", "b", "c"}, []string{"a", "b", "c", "d"}
	for name, c := range map[string]struct {
		nodes   []string
		failing map[string]time.Duration
		wanted  string
	}{
		"nothing":        {three, nil, "Pods reach pods on other nodes, nodes and DNS, as the probes of 3 nodes report."},
		"one node":       {[]string{"a"}, nil, "Pods reach DNS, as the probe of one node reports."},
		"a node":         {three, cutOff("a", "b", "c"), "Node a: the tests pods and nodes fail from and to other nodes."},
		"a node of four": {four, cutOff("c", "a", "b", "d"), "Node c: the tests pods and nodes fail from and to other nodes."},
		"a node that does not tell of it": {two, map[string]time.Duration{"pods a>b": time.Minute, "nodes a>b": time.Minute},
			"Node b: the tests pods and nodes fail from and to other nodes."},
		"both of two":   {two, cutOff("a", "b"), "Nodes a and b: the tests pods and nodes fail between them."},
		"a pair":        {three, cutOff("a", "c"), "Nodes a and c: the tests pods and nodes fail between them."},
		"a pair of two": {four, cutOff("a", "c"), "Nodes a and c: the tests pods and nodes fail between them."},
		"one direction": {four, map[string]time.Duration{"pods b>d": time.Minute}, "Node b: the test pods fails from there to the node d, no answer."},
		"two pairs": {[]string{"a", "b", "c", "d", "e", "f"}, map[string]time.Duration{"pods b>d": 2 * time.Minute, "pods e>c": time.Minute},
			"Node b: the test pods fails from there to the node d, and between another pair, no answer."},
		"halves": {four, merge(cutOff("a", "c", "d"), cutOff("b", "c", "d")),
			"Nodes a, b, c and 1 more: the tests pods and nodes fail from and to other nodes."},
		"pods only": {three, map[string]time.Duration{"pods a>b": time.Minute, "pods c>b": time.Minute},
			"Node b: the test pods fails from and to other nodes, no answer."},
		"DNS for one node": {three, map[string]time.Duration{"dns b": time.Minute}, "Node b: the test dns fails there, no answer."},
		"DNS for all":      {four, map[string]time.Duration{"dns a": time.Minute, "dns b": time.Minute, "dns c": time.Minute, "dns d": time.Minute}, "Nodes a, b, c and 1 more: the test dns fails there, no answer."},
		"a partition with DNS on one side": {two, merge(cutOff("a", "b"), map[string]time.Duration{"dns a": time.Minute}),
			"Nodes a and b: the tests pods and nodes fail between them. Node a: the test dns fails there, no answer."},
		"names that cannot be printed": {[]string{"\x1b[2Ja", "b", "c"}, map[string]time.Duration{"dns \x1b[2Ja": time.Minute}, "Node [2Ja: the test dns fails there, no answer."},
	} {
		t.Run(name, func(t *testing.T) {
			v, _ := Examine(reports(c.nodes, c.failing), Memory{}, noon)
			NewWithT(t).Expect(v.Message).To(Equal(c.wanted))
		})
	}
}

func merge(a, b map[string]time.Duration) map[string]time.Duration {
	for edge, d := range b {
		a[edge] = d
	}
	return a
}

func TestMessagesTellWhatWorksAgainAndWhatIsUnknown(t *testing.T) {
	g := NewWithT(t)
	names := []string{"a", "b", "c"}
	failing := merge(cutOff("a", "b", "c"), map[string]time.Duration{"dns b": time.Minute})
	_, failed := Examine(reports(names, failing), Memory{}, noon)
	message := func(evidence Evidence, before Memory, at time.Time) string {
		v, _ := Examine(evidence, before, at)
		return v.Message
	}
	g.Expect(message(reports(names, map[string]time.Duration{"dns b": time.Minute}), failed, noon)).To(Equal(
		"Node b: the test dns fails there, no answer. By now the tests pods and nodes pass again, which must last for 20s."))
	g.Expect(message(reports(names, nil), failed, noon)).To(Equal("By now the tests pods, nodes and dns pass again, which must last for 20s."))
	silent := Evidence{Nodes: oldNodes(names...)}
	g.Expect(message(silent, failed, noon)).To(Equal("Too few recent reports tell whether the tests pods, nodes and dns still fail."))
	const why = " Their pods of the DaemonSet trellis-probe in kube-system do not run, or do not reach the API server."
	g.Expect(message(silent, Memory{}, noon)).To(Equal("The connectivity is unknown: the probes of 3 of 3 nodes (a, b and c) have not reported for 2 minutes." + why))

	some := reports([]string{"a", "b"}, nil)
	some.Nodes = oldNodes("a", "b", "c", "d", "e", "f")
	g.Expect(message(some, Memory{}, noon)).To(Equal("The connectivity is unknown: the probes of 4 of 6 nodes (c, d, e and 1 more) have not reported for 2 minutes." + why))
	for i := range some.Nodes {
		some.Nodes[i].CreationTimestamp.Time = noon
	}
	g.Expect(message(some, Memory{}, noon)).To(Equal(
		"The connectivity is unknown: the probes of 2 of 6 nodes have reported. Those of new nodes, and of nodes that are about to go, may not report."))
	alone := reports([]string{"a"}, nil)
	alone.Nodes = oldNodes("a", "b")
	alone.Nodes[1].Spec.Unschedulable = true
	alone.Nodes[0].CreationTimestamp.Time = noon
	g.Expect(message(alone, Memory{}, noon)).To(Equal("Pods reach DNS, as the probe of one node reports."))

	var many []string
	for i := range 20 {
		many = append(many, fmt.Sprint("n", i))
	}
	most := reports(many[1:], nil)
	most.Nodes = oldNodes(many...)
	g.Expect(message(most, Memory{}, noon)).To(Equal("Pods reach pods on other nodes, nodes and DNS, as the probes of 19 nodes report. The probe of the node n0 does not report."))
	most.Reports = most.Reports[1:]
	g.Expect(message(most, Memory{}, noon)).To(Equal("Pods reach pods on other nodes, nodes and DNS, as the probes of 18 nodes report. The probes of the nodes n0 and n1 do not report."))

	dual := reports(names, map[string]time.Duration{"dns b": time.Minute})
	six := reports(names, nil)
	for i := range six.Reports {
		for _, check := range six.Reports[i].Report.Checks {
			check.Family = "IPv6"
			dual.Reports[i].Report.Checks = append(dual.Reports[i].Report.Checks, check)
		}
	}
	g.Expect(message(dual, Memory{}, noon)).To(Equal("Node b: the test dns over IPv4 fails there, no answer."))
}
