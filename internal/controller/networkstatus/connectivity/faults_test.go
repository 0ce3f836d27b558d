// SPDX-License-Identifier: Apache-2.0

package connectivity

import (
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/utils/ptr"

	connectivityv1alpha1 "github.com/trellis-network/trellis/api/connectivity/v1alpha1"
	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
)

// shown are the results as "pods:true nodes:false", and the status of the condition.
func shown(v Verdict) string {
	text := string(v.Status)
	if v.Tests != nil {
		for _, check := range checks {
			if result := *field(&v.Tests.ConnectivityResults, check); result != nil {
				text += fmt.Sprintf(" %s:%v", check, *result)
			}
		}
	}
	return text
}

const allPass = "True pods:true nodes:true services:true dns:true"

// For how long a fault may stay undetected, and its repair.
const (
	ofANode, ofAPair, repair = time.Minute, 90 * time.Second, time.Minute
)

func TestFaultsAreNamedInTime(t *testing.T) {
	first, second := "worker-000", "worker-001"
	dropped := func(check connectivityv1alpha1.CheckType, drops func(from, to string, full bool) bool) func(*world) {
		return func(w *world) {
			w.drops = func(from string, t test, to string, full bool) bool { return t.check == check && drops(from, to, full) }
		}
	}
	at := func(node string) func(from, to string, _ bool) bool {
		return func(from, to string, _ bool) bool { return from != to && (from == node || to == node) }
	}
	for name, c := range map[string]struct {
		nodes  []int
		fault  func(*world)
		wanted string
		within time.Duration
		names  string
	}{
		"a link is down": {
			nodes: []int{3, 5, 10, 50}, fault: func(w *world) { w.cut[first] = true },
			wanted: "False pods:false nodes:false services:true dns:true", within: ofANode, names: first,
		},
		"a link is down, of two": {
			nodes: []int{2}, fault: func(w *world) { w.cut[first] = true },
			wanted: "False pods:false nodes:false services:true dns:true", within: ofANode, names: first,
		},
		"a node is killed": {
			nodes: []int{2, 3, 10}, fault: func(w *world) { w.nodes[first].dead = true },
			wanted: "False pods:false nodes:false services:true dns:true", within: ofANode, names: first,
		},
		"the pods of a node are cut off": {
			nodes: []int{2, 3, 10, 50}, fault: dropped(connectivityv1alpha1.CheckPods, at(first)),
			wanted: "False pods:false nodes:true services:true dns:true", within: ofANode, names: first,
		},
		"a small MTU at a node": {
			nodes: []int{10, 50}, fault: dropped(connectivityv1alpha1.CheckPods, func(from, to string, full bool) bool {
				return full && (from == first || to == first)
			}),
			wanted: "False pods:false nodes:true services:true dns:true", within: ofAPair, names: first,
		},
		"a small MTU at one of few nodes": {
			nodes: []int{2, 3}, fault: dropped(connectivityv1alpha1.CheckPods, func(from, to string, full bool) bool {
				return full && (from == first || to == first)
			}),
			wanted: "False pods:false nodes:true services:true dns:true", within: ofAPair, names: first,
		},
		"a partition": {
			nodes: []int{4, 10}, fault: func(w *world) {
				w.drops = func(from string, t test, to string, _ bool) bool {
					return t.ofNodes() && (from < "worker-002") != (to < "worker-002")
				}
			},
			wanted: "False pods:false nodes:false services:true dns:true", within: ofANode, names: "worker-00",
		},
		"two nodes do not reach each other": {
			nodes: []int{3, 5}, fault: dropped(connectivityv1alpha1.CheckPods, func(from, to string, _ bool) bool {
				return from == first && to == second || from == second && to == first
			}),
			wanted: "False pods:false nodes:true services:true dns:true", within: ofAPair, names: first,
		},
		"a small MTU between two nodes, one way": {
			nodes: []int{5}, fault: dropped(connectivityv1alpha1.CheckPods, func(from, to string, full bool) bool {
				return full && from == first && to == second
			}),
			wanted: "False pods:false nodes:true services:true dns:true", within: ofAPair, names: "Node worker-000: the test pods fails from there to the node worker-001, no answer",
		},
		"DNS is gone": {
			nodes: []int{2, 10}, fault: dropped(connectivityv1alpha1.CheckDNS, func(string, string, bool) bool { return true }),
			wanted: "False pods:true nodes:true services:true dns:false", within: ofANode, names: "the test dns fails there, no answer",
		},
		"Services of one node": {
			nodes: []int{2, 10}, fault: dropped(connectivityv1alpha1.CheckServices, func(from, _ string, _ bool) bool { return from == first }),
			wanted: "False pods:true nodes:true services:false dns:true", within: ofAPair, names: "Node " + first + ": the test services fails there",
		},
	} {
		for _, nodes := range c.nodes {
			t.Run(fmt.Sprintf("%s/%d nodes", name, nodes), func(t *testing.T) {
				t.Parallel()
				var slowest, slowestRepair time.Duration
				for seed := range uint64(max(2, 20/nodes)) {
					g := NewWithT(t)
					w := newWorld(seed, nodes)
					w.pass(3 * time.Minute)
					g.Expect(shown(w.verdict)).To(Equal(allPass), w.verdict.Message)
					w.pass(time.Duration(w.random.IntN(60)) * time.Second)

					w.turns = 0
					c.fault(w)
					took, ok := w.until(func(v Verdict) bool { return shown(v) == c.wanted }, c.within)
					g.Expect(ok).To(BeTrue(), "seed %d: %s: %s", seed, shown(w.verdict), w.verdict.Message)
					g.Expect(w.verdict.Message).To(ContainSubstring(c.names))
					slowest = max(slowest, took)
					w.pass(time.Duration(w.random.IntN(240)) * time.Second)
					g.Expect(shown(w.verdict)).To(Equal(c.wanted), "seed %d: %s", seed, w.verdict.Message)

					w.drops, w.cut, w.nodes[first].dead = func(string, test, string, bool) bool { return false }, map[string]bool{}, false
					took, ok = w.until(func(v Verdict) bool { return shown(v) == allPass }, repair)
					g.Expect(ok).To(BeTrue(), "seed %d: %s: %s", seed, shown(w.verdict), w.verdict.Message)
					slowestRepair = max(slowestRepair, took)
					w.pass(10 * time.Minute)
					g.Expect(w.verdict.Status).To(Equal(corev1beta1.ConditionTrue))
					g.Expect(w.turns).To(BeNumerically("<=", 4), "no flapping: two tests turn twice")
				}
				t.Logf("detected within %v, repaired within %v", slowest, slowestRepair)
			})
		}
	}
}

// A node with the only DNS server loses its link, which is mended at any moment. What ends before it was
// told is not told any more: that write would delay the one about the repair.
func TestARepairIsToldInTimeWheneverItComes(t *testing.T) {
	for _, nodes := range []int{2, 3, 10} {
		t.Run(fmt.Sprintf("%d nodes", nodes), func(t *testing.T) {
			t.Parallel()
			var slowest time.Duration
			for seed := range uint64(80) {
				g, w := NewWithT(t), newWorld(seed, nodes)
				w.drops = func(from string, t test, _ string, _ bool) bool {
					return t.check == connectivityv1alpha1.CheckDNS && w.cut["worker-000"] && from != "worker-000"
				}
				w.pass(5*time.Minute + time.Duration(w.random.IntN(60))*time.Second)
				w.cut["worker-000"], w.writes = true, nil
				lasts := time.Duration(20+seed) * time.Second
				w.pass(lasts)
				delete(w.cut, "worker-000")
				mended := w.now
				took, ok := w.until(func(v Verdict) bool { return shown(v) == allPass }, repair)
				g.Expect(ok).To(BeTrue(), "seed %d, mended after %v at %v, written at %v: %s", seed, lasts, mended, w.writes, w.published.verdict.Message)
				slowest = max(slowest, took)
				written := len(w.writes)
				w.pass(2 * time.Minute)
				g.Expect(shown(w.published.verdict)).To(Equal(allPass))
				expectOneAMinute(g, w.writes)
				g.Expect(written).To(BeNumerically("<=", 3), "pods and nodes, DNS, and the repair")
			}
			t.Logf("repaired within %v", slowest)
		})
	}
}

// The probe of a node that starts again has nothing to tell but that it is there: its last report may
// just have become too old to count.
func TestANodeThatStartsAgainIsToldInTime(t *testing.T) {
	for _, nodes := range []int{2, 3, 10} {
		t.Run(fmt.Sprintf("%d nodes", nodes), func(t *testing.T) {
			t.Parallel()
			var slowest time.Duration
			for seed := range uint64(80) {
				g, w := NewWithT(t), newWorld(seed, nodes)
				w.pass(5*time.Minute + time.Duration(w.random.IntN(60))*time.Second)
				w.nodes["worker-000"].dead = true
				lasts := time.Duration(70+2*seed) * time.Second
				w.pass(lasts)
				g.Expect(w.published.verdict.Status).To(Equal(corev1beta1.ConditionFalse), "seed %d, down for %v, written at %v: %s", seed, lasts, w.writes, w.verdict.Message)
				w.nodes["worker-000"].dead = false
				took, ok := w.until(func(v Verdict) bool { return shown(v) == allPass }, 45*time.Second)
				g.Expect(ok).To(BeTrue(), "seed %d, down for %v, written at %v: %s", seed, lasts, w.writes, w.verdict.Message)
				slowest = max(slowest, took)
			}
			t.Logf("repaired within %v", slowest)
		})
	}
}

// One family that fails is told apart from the other.
func TestFamiliesAreToldApart(t *testing.T) {
	g := NewWithT(t)
	w := newWorld(1, 5)
	w.dual = true
	w.pass(3 * time.Minute)
	g.Expect(shown(w.verdict)).To(Equal(allPass))
	g.Expect(w.verdict.Tests.Families).To(HaveLen(2))
	w.drops = func(_ string, t test, _ string, _ bool) bool {
		return t.check == connectivityv1alpha1.CheckPods && t.family == connectivityv1alpha1.IPv6
	}
	_, ok := w.until(func(v Verdict) bool { return v.Status == corev1beta1.ConditionFalse }, ofANode)
	g.Expect(ok).To(BeTrue())
	g.Expect(w.verdict.Tests.Families["IPv4"].Pods).To(HaveValue(BeTrue()))
	g.Expect(w.verdict.Tests.Families["IPv6"].Pods).To(HaveValue(BeFalse()))
	g.Expect(w.verdict.Tests.Families["IPv6"].Nodes).To(HaveValue(BeTrue()))
	g.Expect(w.verdict.Message).To(ContainSubstring("the test pods over IPv6 fails"))
}

// keeps lets time pass, and expects that no result changes.
func (w *world) keeps(g *WithT, d time.Duration) {
	w.changes = nil
	w.pass(d)
	if len(w.changes) > 0 {
		g.Expect(w.changes[0].verdict.Message).To(BeEmpty(), "%v: %s", w.changes[0].at, shown(w.changes[0].verdict))
	}
}

func TestWhatIsNoFailure(t *testing.T) {
	for name, happens := range map[string]func(w *world, g *WithT){
		"a node is drained and deleted": func(w *world, g *WithT) {
			n := w.nodes["worker-000"]
			n.node.Spec.Unschedulable = true
			w.keeps(g, 5*time.Minute)
			n.dead = true
			w.keeps(g, 10*time.Minute)
			w.remove("worker-000")
			w.keeps(g, 10*time.Minute)
		},
		"a node is deleted while it runs": func(w *world, g *WithT) {
			w.nodes["worker-000"].dead = true
			w.keeps(g, 15*time.Second)
			w.remove("worker-000")
			w.keeps(g, 10*time.Minute)
		},
		"a node joins before its network works": func(w *world, g *WithT) {
			n := w.join(0, 20*time.Second)
			w.drops = func(from string, t test, to string, _ bool) bool { return from == n.node.Name || to == n.node.Name }
			w.keeps(g, 2*time.Minute)
			w.drops = func(string, test, string, bool) bool { return false }
			w.keeps(g, 10*time.Minute)
		},
		"a node joins whose network begins to work edge by edge": func(w *world, g *WithT) {
			n := w.join(0, 20*time.Second)
			joined, works := w.now, map[string]time.Time{}
			w.drops = func(from string, t test, to string, _ bool) bool {
				edge := from + to + string(t.check)
				if works[edge].IsZero() {
					works[edge] = joined.Add(time.Duration(w.random.IntN(100)) * time.Second)
				}
				return (from == n.node.Name || to == n.node.Name) && w.now.Before(works[edge])
			}
			w.keeps(g, 10*time.Minute)
		},
		"single attempts are lost everywhere": func(w *world, g *WithT) {
			w.drops = func(string, test, string, bool) bool { return w.random.Float64() < 0.02 }
			w.keeps(g, time.Hour)
		},
		// With 30 % loss in one direction, both SYNs of an attempt of three seconds are lost in one
		// of ten.
		"a node with 30 % loss": func(w *world, g *WithT) {
			w.drops = func(from string, t test, to string, _ bool) bool {
				return (from == "worker-000" || to == "worker-000") && w.random.Float64() < 0.1
			}
			w.keeps(g, time.Hour)
		},
		"a probe restarts": func(w *world, g *WithT) {
			w.nodes["worker-000"].probing = w.now.Add(time.Minute)
			w.keeps(g, 10*time.Minute)
		},
	} {
		for _, nodes := range []int{3, 10, 30} {
			t.Run(fmt.Sprintf("%s/%d nodes", name, nodes), func(t *testing.T) {
				t.Parallel()
				for seed := range uint64(max(1, 10/nodes)) {
					g := NewWithT(t)
					w := newWorld(seed, nodes)
					w.pass(3 * time.Minute)
					g.Expect(shown(w.verdict)).To(Equal(allPass), w.verdict.Message)
					happens(w, g)
				}
			})
		}
	}
}

// Of a new cluster the first probes that report are no evidence about all of it.
func TestAFirstVerdictIsAboutMostNodes(t *testing.T) {
	for name, c := range map[string]struct{ early, late, gets int }{
		"two nodes":       {early: 1, late: 1, gets: 2},
		"a hundred nodes": {early: 5, late: 95, gets: 50},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for seed := range uint64(5) {
				g, w := NewWithT(t), newWorld(seed, 0)
				for range c.early {
					w.join(0, 10*time.Second)
				}
				for range c.late {
					w.join(0, 90*time.Second)
				}
				w.pass(80 * time.Second)
				g.Expect(w.verdict.Status).To(Equal(corev1beta1.ConditionUnknown), w.verdict.Message)
				_, ok := w.until(func(v Verdict) bool { return shown(v) == allPass }, time.Minute)
				g.Expect(ok).To(BeTrue(), w.verdict.Message)
				g.Expect(w.verdict.Tests.Summary.Nodes).To(BeNumerically(">=", c.gets), w.verdict.Message)
			}
		})
	}
}

// Once the edges of a new node have worked for half a minute, they count.
func TestAFaultOfANewNodeIsNamedInTime(t *testing.T) {
	for name, c := range map[string]struct{ nodes, others int }{
		"all nodes are new":   {nodes: 2},
		"one joins others":    {nodes: 1, others: 3},
		"several join others": {nodes: 3, others: 20},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var slowest time.Duration
			for seed := range uint64(10) {
				g := NewWithT(t)
				w := newWorld(seed, c.others)
				var joined *simulated
				for range c.nodes {
					joined = w.join(0, 20*time.Second)
				}
				w.pass(100 * time.Second)
				g.Expect(shown(w.verdict)).To(Equal(allPass), w.verdict.Message)
				w.cut[joined.node.Name] = true
				took, ok := w.until(func(v Verdict) bool { return v.Status == corev1beta1.ConditionFalse }, ofANode)
				g.Expect(ok).To(BeTrue(), "seed %d: %s %v", seed, w.verdict.Message, w.writes)
				g.Expect(w.verdict.Message).To(ContainSubstring(joined.node.Name))
				slowest = max(slowest, took)
				w.cut = map[string]bool{}
				_, ok = w.until(func(v Verdict) bool { return shown(v) == allPass }, repair)
				g.Expect(ok).To(BeTrue(), "seed %d: %s", seed, w.verdict.Message)
			}
			t.Logf("detected within %v", slowest)
		})
	}
}

// A tenth of the nodes is replaced each minute, drained first or deleted at once.
func TestChurnTurnsNothing(t *testing.T) {
	for _, drains := range []bool{true, false} {
		t.Run(fmt.Sprintf("drained %v", drains), func(t *testing.T) {
			t.Parallel()
			for seed := range uint64(3) {
				g := NewWithT(t)
				w := newWorld(seed, 50)
				w.pass(3 * time.Minute)
				w.changes, w.writes = nil, nil
				for range 30 * 5 { // minutes, and nodes in each
					leaving := w.nodes[w.names[w.random.IntN(len(w.names))]]
					leaving.node.Spec.Unschedulable = drains
					w.pass(4 * time.Second)
					leaving.dead = true
					w.pass(4 * time.Second)
					w.remove(leaving.node.Name)
					w.join(0, time.Duration(20+w.random.IntN(60))*time.Second)
					w.pass(4 * time.Second)
				}
				g.Expect(shown(w.verdict)).To(Equal(allPass))
				g.Expect(w.changes).To(BeEmpty())
				g.Expect(len(w.writes)).To(BeNumerically("<=", 30), "once a minute")
			}
		})
	}
}

// A node that is dead for long is no failure of the network, unless many are.
func TestNodesThatAreGone(t *testing.T) {
	g := NewWithT(t)
	w := newWorld(1, 20)
	w.pass(3 * time.Minute)
	w.nodes["worker-000"].dead, w.nodes["worker-001"].dead = true, true
	w.pass(5 * time.Minute)
	g.Expect(w.verdict.Status).To(Equal(corev1beta1.ConditionFalse))
	w.pass(3 * time.Minute)
	g.Expect(shown(w.verdict)).To(Equal(allPass), w.verdict.Message)
	g.Expect(w.verdict.Message).To(HaveSuffix(" Nothing has been heard of the nodes worker-000 and worker-001 for 5 minutes."))
	w.nodes["worker-002"].dead = true
	w.pass(8 * time.Minute)
	g.Expect(w.verdict.Status).To(Equal(corev1beta1.ConditionFalse), "more than a tenth")
	g.Expect(w.verdict.Message).To(ContainSubstring("Nodes worker-000, worker-001 and worker-002: "))
}

// Of two nodes one is no longer there, so nothing tells whether pods reach other nodes.
func TestOneOfTwoNodesThatIsGoneLeavesNothingToTest(t *testing.T) {
	g := NewWithT(t)
	w := newWorld(1, 2)
	w.pass(3 * time.Minute)
	w.cut["worker-000"] = true
	w.pass(5 * time.Minute)
	g.Expect(w.verdict.Status).To(Equal(corev1beta1.ConditionFalse))
	w.pass(3 * time.Minute)
	g.Expect(shown(w.verdict)).To(Equal("Unknown nodes:true services:true dns:true"))
	g.Expect(w.verdict.Message).To(Equal("The connectivity is unknown: the probes of 1 of 2 nodes have reported, and none has tested pods on another node. " +
		"Those of new nodes, and of nodes that are about to go, may not report. Nothing has been heard of the node worker-000 for 5 minutes."))
	delete(w.cut, "worker-000")
	_, ok := w.until(func(v Verdict) bool { return shown(v) == allPass }, repair)
	g.Expect(ok).To(BeTrue(), w.published.verdict.Message)
}

// Without reports nothing is known, which is no failure.
func TestProbesThatDoNotRunAreUnknown(t *testing.T) {
	for _, nodes := range []int{1, 2, 10, 50} {
		g := NewWithT(t)
		w := newWorld(1, nodes)
		w.pass(3 * time.Minute)
		g.Expect(w.verdict.Status).To(Equal(corev1beta1.ConditionTrue))
		w.changes, w.broken = nil, true
		took, ok := w.until(func(v Verdict) bool { return v.Status == corev1beta1.ConditionUnknown }, 4*time.Minute)
		g.Expect(ok).To(BeTrue(), w.verdict.Message)
		g.Expect(took).To(BeNumerically("<", 3*time.Minute+30*time.Second))
		g.Expect(w.verdict.Reason).To(Equal(ReasonTooFewReports))
		g.Expect(w.verdict.Tests).To(BeNil())
		g.Expect(w.verdict.Message).To(ContainSubstring("worker-000"))
		for _, c := range w.changes {
			g.Expect(c.verdict.Status).NotTo(Equal(corev1beta1.ConditionFalse))
		}
		w.broken = false
		_, ok = w.until(func(v Verdict) bool { return v.Status == corev1beta1.ConditionTrue }, time.Minute)
		g.Expect(ok).To(BeTrue())
	}
}

// A node whose probe is silent is unknown, and the others tell of the rest.
func TestAFewSilentProbesAreNamed(t *testing.T) {
	g := NewWithT(t)
	w := newWorld(1, 10)
	w.nodes["worker-003"].probing = w.now.Add(time.Hour)
	w.pass(5 * time.Minute)
	g.Expect(shown(w.verdict)).To(Equal(allPass))
	g.Expect(w.verdict.Message).To(ContainSubstring("The probe of the node worker-003 does not report."))
	w.nodes["worker-004"].probing = w.now.Add(time.Hour)
	w.nodes["worker-004"].attempts = map[target]*attempts{}
	w.pass(5 * time.Minute)
	g.Expect(w.verdict.Reason).To(Equal(ReasonTooFewReports))
}

func TestANewClusterPassesSoon(t *testing.T) {
	g := NewWithT(t)
	w := newWorld(1, 0)
	w.pass(time.Second)
	g.Expect(shown(w.verdict)).To(Equal("Unknown"))
	for range 3 {
		w.join(0, 20*time.Second)
	}
	took, ok := w.until(func(v Verdict) bool { return v.Status == corev1beta1.ConditionTrue }, 2*time.Minute)
	g.Expect(ok).To(BeTrue(), w.verdict.Message)
	t.Logf("after %v", took)
	w.keeps(g, 10*time.Minute)
	g.Expect(ptr.Deref(w.verdict.Tests.Pods, false)).To(BeTrue())
}
