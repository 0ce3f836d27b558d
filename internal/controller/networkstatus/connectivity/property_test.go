// SPDX-License-Identifier: Apache-2.0

package connectivity

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	connectivityv1alpha1 "github.com/trellis-network/trellis/api/connectivity/v1alpha1"
	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
)

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// anyEvidence is whatever a hostile shoot may bring: any texts, times and numbers, reports without
// nodes, and nodes without reports.
func anyEvidence(t *rapid.T) Evidence {
	name := rapid.OneOf(rapid.SampledFrom([]string{"one", "two", "three"}), rapid.String())
	moment := rapid.Custom(func(t *rapid.T) metav1.Time {
		return metav1.NewTime(noon.Add(time.Duration(rapid.Int64().Draw(t, "offset"))))
	})
	var evidence Evidence
	for range rapid.IntRange(0, 12).Draw(t, "nodes") {
		node := corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name.Draw(t, "node"), CreationTimestamp: moment.Draw(t, "created")}}
		node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, LastTransitionTime: moment.Draw(t, "since"),
			Status: rapid.SampledFrom([]corev1.ConditionStatus{"True", "False", "Unknown", ""}).Draw(t, "ready")}}
		node.Spec.Unschedulable = rapid.Bool().Draw(t, "cordoned")
		evidence.Nodes = append(evidence.Nodes, node)
	}
	for range rapid.IntRange(0, 12).Draw(t, "reports") {
		report := connectivityv1alpha1.NodeConnectivity{ObjectMeta: metav1.ObjectMeta{Name: name.Draw(t, "reporter")}}
		report.Report.Time = moment.Draw(t, "reported")
		for range rapid.IntRange(0, 5).Draw(t, "checks") {
			check := connectivityv1alpha1.Check{
				Family: rapid.SampledFrom([]connectivityv1alpha1.IPFamily{"IPv4", "IPv6", "", "IPv5"}).Draw(t, "family"),
				Type:   rapid.SampledFrom([]connectivityv1alpha1.CheckType{"pods", "nodes", "services", "dns", "outside", "x"}).Draw(t, "check"),
			}
			for range rapid.IntRange(0, 8).Draw(t, "results") {
				result := connectivityv1alpha1.Result{
					Name: name.Draw(t, "target"), ConsecutiveFailures: rapid.Int32().Draw(t, "failures"),
					Error: strings.Repeat(rapid.String().Draw(t, "error"), rapid.IntRange(1, 50).Draw(t, "length")),
				}
				if rapid.Bool().Draw(t, "has times") {
					result.FailingSince, result.LastSuccess = new(moment.Draw(t, "failing")), new(moment.Draw(t, "success"))
				}
				check.Results = append(check.Results, result)
			}
			report.Report.Checks = append(report.Report.Checks, check)
		}
		evidence.Reports = append(evidence.Reports, report)
	}
	return evidence
}

func TestAVerdictIsBoundedWhateverAShootReports(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := NewWithT(t)
		var memory Memory
		now := noon
		for range rapid.IntRange(1, 4).Draw(t, "rounds") {
			evidence := anyEvidence(t)
			before, err := json.Marshal(evidence.Nodes)
			g.Expect(err).NotTo(HaveOccurred())
			v, next := Examine(evidence, memory, now)
			again, _ := Examine(evidence, memory, now)
			g.Expect(again).To(Equal(v), "the same evidence, the same verdict")
			after, err := json.Marshal(evidence.Nodes)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(after).To(Equal(before))

			g.Expect(v.Again).To(And(BeNumerically(">", 0), BeNumerically("<=", period)))
			g.Expect(v.Status).To(BeElementOf(corev1beta1.ConditionTrue, corev1beta1.ConditionFalse, corev1beta1.ConditionUnknown))
			g.Expect(v.Reason).NotTo(BeEmpty())
			encoded, err := json.Marshal(published{verdict: v}.report(0))
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(len(encoded)).To(BeNumerically("<", 16<<10))
			g.Expect(len(v.Message)).To(BeNumerically("<", 8<<10))
			g.Expect(strings.IndexFunc(v.Message, func(r rune) bool { return !unicode.IsPrint(r) })).To(Equal(-1), v.Message)
			if v.Tests != nil {
				for _, worst := range v.Tests.Summary.Worst {
					for _, text := range []string{worst.Node, worst.Target, worst.Error} {
						g.Expect(len(text)).To(BeNumerically("<=", maxText))
						g.Expect(strings.IndexFunc(text, func(r rune) bool { return !unicode.IsPrint(r) })).To(Equal(-1))
					}
				}
				g.Expect(len(v.Tests.Summary.Worst)).To(BeNumerically("<=", maxWorst))
			}
			if v.Status == corev1beta1.ConditionFalse && v.Failing == 0 {
				g.Expect(memory.tests).NotTo(BeEmpty(), "what does not fail now has failed before")
			}
			g.Expect(len(next.seen)).To(BeNumerically("<=", len(evidence.Reports)))
			memory = next
			now = now.Add(time.Duration(rapid.IntRange(0, 300).Draw(t, "seconds")) * time.Second)
		}
	})
}

// reportAbout is the report of a node at noon.
func reportAbout(node string, at time.Time, check connectivityv1alpha1.CheckType, results ...connectivityv1alpha1.Result) connectivityv1alpha1.NodeConnectivity {
	made := connectivityv1alpha1.NodeConnectivity{ObjectMeta: metav1.ObjectMeta{Name: node}}
	made.Report.Time = metav1.NewTime(at)
	made.Report.Checks = []connectivityv1alpha1.Check{{Family: "IPv4", Type: check, Results: results}}
	return made
}

func oldNodes(names ...string) (list []corev1.Node) {
	for _, name := range names {
		list = append(list, corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, CreationTimestamp: metav1.NewTime(noon.Add(-time.Hour))}})
	}
	return list
}

// failingFor is the result of a target that has been failing at noon for a time.
func failingFor(target string, d time.Duration) connectivityv1alpha1.Result {
	return connectivityv1alpha1.Result{Name: target, ConsecutiveFailures: 5, FailingSince: new(metav1.NewTime(noon.Add(-d))), Error: "no answer"}
}

func TestWhatIsNotOfTheNetworkDoesNotCount(t *testing.T) {
	pass := connectivityv1alpha1.Result{Name: "two"}
	for name, reports := range map[string][]connectivityv1alpha1.NodeConnectivity{
		"outside of the cluster": {
			reportAbout("one", noon, connectivityv1alpha1.CheckPods, pass),
			reportAbout("two", noon, connectivityv1alpha1.CheckOutside, failingFor("example.org:443", time.Hour)),
		},
		"to a node that is deleted": {
			reportAbout("one", noon, connectivityv1alpha1.CheckPods, pass, failingFor("former", time.Hour)),
			reportAbout("two", noon, connectivityv1alpha1.CheckPods, pass),
		},
		"from a node that is deleted": {
			reportAbout("one", noon, connectivityv1alpha1.CheckPods, pass), reportAbout("two", noon, connectivityv1alpha1.CheckPods, pass),
			reportAbout("former", noon, connectivityv1alpha1.CheckPods, failingFor("one", time.Hour), failingFor("two", time.Hour)),
		},
		"of a report that is stale": {
			reportAbout("one", noon.Add(-staleAfter-time.Second), connectivityv1alpha1.CheckPods, failingFor("two", time.Hour)),
			reportAbout("two", noon, connectivityv1alpha1.CheckPods, pass),
			reportAbout("three", noon, connectivityv1alpha1.CheckPods, pass),
		},
	} {
		t.Run(name, func(t *testing.T) {
			v, _ := Examine(Evidence{Reports: reports, Nodes: oldNodes("one", "two")}, Memory{}, noon)
			NewWithT(t).Expect(v.Failing).To(BeZero(), v.Message)
			NewWithT(t).Expect(v.Status).NotTo(Equal(corev1beta1.ConditionFalse))
		})
	}
}

// The clock of a node may differ from the operator's by any time, once it has been seen.
func TestClocksOfNodesMayDiffer(t *testing.T) {
	for _, skew := range []time.Duration{-time.Hour, time.Hour} {
		g := NewWithT(t)
		var memory Memory
		var v Verdict
		for minute := range 10 {
			at := noon.Add(time.Duration(minute) * time.Minute)
			v, memory = Examine(Evidence{Nodes: oldNodes("one", "two"), Reports: []connectivityv1alpha1.NodeConnectivity{
				reportAbout("one", at.Add(skew), connectivityv1alpha1.CheckPods, connectivityv1alpha1.Result{Name: "two"}),
				reportAbout("two", at.Add(skew), connectivityv1alpha1.CheckPods, connectivityv1alpha1.Result{Name: "one"}),
			}}, memory, at)
		}
		g.Expect(v.Status).To(Equal(corev1beta1.ConditionTrue), v.Message)
	}
}

// A node that was cut off tells of it when it no longer is.
func TestWhatANodeCouldNotReportCountsFromThenOn(t *testing.T) {
	g := NewWithT(t)
	fine := connectivityv1alpha1.Result{Name: "service"}
	former := Evidence{Nodes: oldNodes("one"), Reports: []connectivityv1alpha1.NodeConnectivity{reportAbout("one", noon.Add(-70*time.Second), connectivityv1alpha1.CheckServices, fine)}}
	_, memory := Examine(former, Memory{}, noon.Add(-70*time.Second))
	now := Evidence{Nodes: former.Nodes, Reports: []connectivityv1alpha1.NodeConnectivity{
		reportAbout("one", noon, connectivityv1alpha1.CheckServices, failingFor("service", time.Minute)),
	}}
	v, after := Examine(now, memory, noon)
	g.Expect(v.Status).To(Equal(corev1beta1.ConditionTrue), v.Message)
	v, _ = Examine(now, after, noon.Add(pairThreshold))
	g.Expect(v.Status).To(Equal(corev1beta1.ConditionFalse), "it still fails")
	v, _ = Examine(now, Memory{}, noon)
	g.Expect(v.Status).To(Equal(corev1beta1.ConditionFalse), "an operator that starts knows nothing of a former report")
}

func TestProxyARPIsReportedWhereItIsRead(t *testing.T) {
	reports := func(read ...*bool) Evidence {
		var evidence Evidence
		for i, value := range read {
			node := fmt.Sprint(i)
			report := reportAbout(node, noon, connectivityv1alpha1.CheckDNS)
			if value != nil {
				report.Report.PodInterface = &connectivityv1alpha1.PodInterface{ProxyARP: value}
			}
			evidence.Reports, evidence.Nodes = append(evidence.Reports, report), append(evidence.Nodes, oldNodes(node)...)
		}
		return evidence
	}
	yes, no := new(true), new(false)
	for _, c := range []struct {
		evidence Evidence
		wanted   *bool
	}{
		{reports(yes, yes), yes}, {reports(yes, no), no}, {reports(no, yes), no}, {reports(nil, yes), yes}, {reports(nil, nil), nil},
	} {
		v, _ := Examine(c.evidence, Memory{}, noon)
		NewWithT(t).Expect(v.ARPProxy).To(Equal(c.wanted))
	}
}

// A cache lists in any order.
func TestTheOrderOfReportsDoesNotMatter(t *testing.T) {
	g := NewWithT(t)
	evidence := Evidence{Nodes: oldNodes("five", "four", "one", "three", "two"), Reports: []connectivityv1alpha1.NodeConnectivity{
		reportAbout("one", noon, connectivityv1alpha1.CheckPods, failingFor("two", time.Minute), failingFor("three", time.Minute)),
		reportAbout("two", noon, connectivityv1alpha1.CheckPods, failingFor("one", time.Minute), failingFor("three", time.Minute)),
	}}
	one, _ := Examine(evidence, Memory{}, noon)
	slices.Reverse(evidence.Nodes)
	slices.Reverse(evidence.Reports)
	two, _ := Examine(evidence, Memory{}, noon)
	g.Expect(two).To(Equal(one))
	evidence.Reports = nil
	silent, _ := Examine(evidence, Memory{}, noon)
	slices.Reverse(evidence.Nodes)
	again, _ := Examine(evidence, Memory{}, noon)
	g.Expect(again).To(Equal(silent))
}
