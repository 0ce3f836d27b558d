// SPDX-License-Identifier: Apache-2.0

package exchange_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"pgregory.net/rapid"

	"github.com/trellis-network/trellis/internal/exchange"
)

var noon = time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)

// simulated is a cluster in which DaemonSets, the scheduler and probes do what they do.
type simulated struct {
	nodes    []*exchange.Node
	cordoned map[string]bool
	now      time.Time
	// slow reports whether something takes longer than until the next look.
	slow func() bool
}

func clusterOf(count int, networkType string, slow func() bool) *simulated {
	s := &simulated{cordoned: map[string]bool{}, now: noon, slow: slow}
	for i := range count {
		s.nodes = append(s.nodes, &exchange.Node{
			Name: fmt.Sprintf("node-%d", i), Type: networkType, Ready: true, Cleaner: exchange.Agents{Wanted: 1},
			Agents: map[string]exchange.Agents{"old": {Wanted: 1}, "new": {Wanted: 1}},
		})
		s.settle(s.nodes[i])
	}
	return s
}

// settle lets the pods of a node become those that its label asks for.
func (s *simulated) settle(n *exchange.Node) {
	grow := func(a exchange.Agents, wanted bool) exchange.Agents {
		switch {
		case s.slow():
		case !wanted:
			a.Pods, a.Ready = 0, 0
		case a.Pods == 0:
			a.Pods = 1
		default:
			a.Ready = 1
		}
		return a
	}
	for each, agents := range n.Agents {
		n.Agents[each] = grow(agents, n.Type == each)
	}
	n.Cleaner = grow(n.Cleaner, n.Type == "none")
	n.Ready = n.Type != "none"
	talks := n.Step == exchange.Joining && n.Agents[n.Type].Ready > 0 && len(n.Stale) == 0 && !s.slow()
	n.Talks = &talks
}

// look does what follows from one look at all nodes.
func (s *simulated) look(t Gomega, target string, limits exchange.Limits) exchange.Verdict {
	s.now = s.now.Add(5 * time.Second)
	var seen []exchange.Node
	for _, n := range s.nodes {
		s.settle(n)
		seen = append(seen, *n)
	}
	verdict := exchange.Next(seen, target, limits, s.now)
	for _, action := range verdict.Actions {
		for _, n := range s.nodes {
			if n.Name == action.Node {
				s.do(t, n, action)
			}
		}
	}
	return verdict
}

func (s *simulated) do(t Gomega, n *exchange.Node, action exchange.Action) {
	if len(action.Evict) > 0 && !s.slow() {
		n.Leaving = n.Leaving[1:]
	}
	if len(action.Delete) > 0 && !s.slow() {
		n.Stale = nil
	}
	if action.Waits != "" {
		return
	}
	if action.Begin {
		n.Leaving = []exchange.Pod{{Namespace: "default", Name: "a"}, {Namespace: "default", Name: "b"}}
	}
	if action.Step == exchange.Joining {
		t.Expect(n.Agents["old"].Pods+n.Agents["new"].Pods).To(BeZero(), "agents come to a node that those of the other network have left")
		n.Stale = []exchange.Pod{{Namespace: "kube-system", Name: "probe"}}
	}
	if action.Step == exchange.Cleaning {
		t.Expect(n.Leaving).To(BeEmpty(), "agents leave a drained node")
	}
	n.Type, n.Step, n.Since = action.Type, action.Step, s.now
	s.cordoned[n.Name] = !action.Uncordon
}

func (s *simulated) countCordoned() (count int) {
	for _, is := range s.cordoned {
		if is {
			count++
		}
	}
	return count
}

// However long each thing takes, and however often a user turns back, all nodes get to where the spec
// says, and no more are drained at once than may be.
func TestAllNodesGetThere(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := NewWithT(t)
		chance := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		s := clusterOf(rapid.IntRange(0, 6).Draw(t, "nodes"), "old", func() bool { return chance.IntN(3) == 0 })
		limits := exchange.Limits{AtOnce: rapid.IntRange(0, 3).Draw(t, "at once")}
		target := "new"
		for range rapid.IntRange(0, 4).Draw(t, "turns") {
			for range rapid.IntRange(0, 40).Draw(t, "looks") {
				s.look(g, target, limits)
				g.Expect(s.countCordoned()).To(BeNumerically("<=", max(1, limits.AtOnce)))
			}
			target = map[string]string{"old": "new", "new": "old"}[target]
		}
		s.slow = func() bool { return false }
		var last exchange.Verdict
		for range 40 * (1 + len(s.nodes)) {
			if last = s.look(g, target, limits); last.Done {
				break
			}
		}
		g.Expect(last.Done).To(BeTrue(), last.WaitsFor)
		g.Expect(s.countCordoned()).To(BeZero())
		for _, n := range s.nodes {
			g.Expect(n.Type).To(Equal(target))
			g.Expect(n.Step).To(Equal(exchange.None))
		}
	})
}

func prompt() bool { return false }

func TestOtherNodesWaitWhilePodsDoNotTalk(t *testing.T) {
	g := NewWithT(t)
	s := clusterOf(2, "old", prompt)
	lost := exchange.Limits{Lost: "Nodes a and b: the test pods fails between them."}
	verdict := s.look(g, "new", lost)
	g.Expect(verdict.Actions).To(BeEmpty())
	g.Expect(verdict.WaitsFor).To(Equal("pods talk again: Nodes a and b: the test pods fails between them."))
	s.look(g, "new", exchange.Limits{})
	g.Expect(s.nodes[0].Step).To(Equal(exchange.Draining))
	for range 20 { // what has begun ends
		s.look(g, "new", lost)
	}
	g.Expect(s.nodes[0].Type).To(Equal("new"))
	g.Expect(s.nodes[0].Step).To(Equal(exchange.None))
	g.Expect(s.nodes[1].Step).To(Equal(exchange.None))
}

func TestAPausedChangeBeginsNoOtherNode(t *testing.T) {
	g := NewWithT(t)
	s := clusterOf(2, "old", prompt)
	s.look(g, "new", exchange.Limits{})
	var last exchange.Verdict
	for range 20 {
		last = s.look(g, "new", exchange.Limits{Paused: true})
	}
	g.Expect(last.NodesDone).To(Equal(1))
	g.Expect(last.Done).To(BeFalse())
	g.Expect(last.WaitsFor).To(Equal("the annotation trellis.network/change-type has the value true again"))
}

// A few nodes that cannot be drained must not hold up hundreds, and many must stop the change.
func TestNodesThatCannotBeDrainedAreNamedAndSkipped(t *testing.T) {
	g := NewWithT(t)
	s := clusterOf(5, "old", prompt)
	var last exchange.Verdict
	for range 1000 {
		last = s.look(g, "new", exchange.Limits{})
		for _, n := range s.nodes[1:] {
			if n.Step == exchange.Draining {
				n.Stuck = []string{"the pod default/bare of " + n.Name + " has no controller"}
			}
		}
	}
	g.Expect(s.nodes[0].Type).To(Equal("new"))
	g.Expect(s.countCordoned()).To(Equal(3), "two may be stuck, and a third one shows that this is no exception")
	g.Expect(last.NodesDone).To(Equal(1))
	g.Expect(last.WaitsFor).To(Equal("nodes can be drained again: 3 cannot, which are more than 2"))
	s.nodes[4].Type = "new" // it has been replaced
	g.Expect(s.look(g, "new", exchange.Limits{}).WaitsFor).To(ContainSubstring("the pod default/bare of node-"))
}

// A node that was turned back before its agents left is as it was.
func TestADrainedNodeThatIsTurnedBackIsUncordoned(t *testing.T) {
	g := NewWithT(t)
	s := clusterOf(1, "old", prompt)
	s.look(g, "new", exchange.Limits{})
	g.Expect(s.cordoned["node-0"]).To(BeTrue())
	s.look(g, "old", exchange.Limits{})
	g.Expect(s.cordoned["node-0"]).To(BeFalse())
	g.Expect(s.look(g, "old", exchange.Limits{}).Done).To(BeTrue())
}
