// SPDX-License-Identifier: Apache-2.0

package transition_test

import (
	"errors"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/internal/transition"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// after returns noon and some seconds.
func after(seconds int) time.Time { return noon.Add(time.Duration(seconds) * time.Second) }

// walk is a network that goes from config a by way of b to c.
type walk struct {
	t      *testing.T
	record *transition.Record
	// present is the config that was written last.
	present string
	way     []string
	seen    transition.Observation
}

// fromA is a network of three nodes that is well.
func fromA(t *testing.T) *walk {
	return &walk{t: t, present: "a", way: []string{"b", "c"}, seen: transition.Observation{
		Applied: true, Agents: []transition.Agent{{Nodes: 3, Updated: 3, Available: 3, Observed: true}}, Connectivity: talking(corev1beta1.ConditionTrue, -1000),
	}}
}

func talking(status corev1beta1.ConditionStatus, since int) *corev1beta1.Condition {
	return &corev1beta1.Condition{
		Type: extensionsv1alpha1.PodNetworkAvailable, Status: status, Message: "Nodes one and two: the test pods fails between them.", LastTransitionTime: metav1.NewTime(after(since)),
	}
}

func (w *walk) target() string {
	if len(w.way) == 0 {
		return w.present
	}
	return w.way[len(w.way)-1]
}

// at judges at some seconds after noon, and writes the next step if that may be.
func (w *walk) at(seconds int) transition.Decision {
	plan := transition.Plan{Present: w.present, Target: w.target(), From: "as a", To: "as " + w.target()}
	for _, each := range w.way {
		plan.Steps = append(plan.Steps, transition.Next{Name: "step " + each, Config: each})
	}
	decided := transition.Judge(w.record, plan, w.seen, after(seconds))
	w.record = decided.Record
	if decided.Advance {
		w.present, w.way = w.way[0], w.way[1:]
	}
	return decided
}

func (w *walk) is(seconds, step int, phase transition.Phase) {
	w.t.Helper()
	g := NewWithT(w.t)
	decided := w.at(seconds)
	g.Expect(decided.Record).NotTo(BeNil())
	g.Expect([]any{decided.Record.Step, decided.Record.Phase}).To(Equal([]any{step, phase}))
	g.Expect(decided.Again).To(And(BeNumerically(">", 0), BeNumerically("<=", 10*time.Second)))
}

func TestEachStepWaitsForAllNodesAndForPodsThatTalk(t *testing.T) {
	g := NewWithT(t)
	w := fromA(t)
	w.is(0, 1, transition.Applying) // b is written
	w.seen.Applied = false
	w.is(1, 1, transition.Applying)
	w.seen.Applied, w.seen.Agents[0].Observed = true, false
	w.is(2, 1, transition.RollingOut)
	w.seen.Agents[0] = transition.Agent{Nodes: 3, Updated: 2, Available: 3, Observed: true}
	w.is(3, 1, transition.RollingOut)
	w.seen.Agents[0] = transition.Agent{Nodes: 3, Updated: 3, Available: 2, Observed: true}
	w.is(4, 1, transition.RollingOut)
	w.seen.Agents[0].Available = 3
	w.is(10, 1, transition.Verifying)
	w.is(99, 1, transition.Verifying)
	w.is(100, 2, transition.Applying) // c is written
	g.Expect(w.present).To(Equal("c"))
	w.is(110, 2, transition.Verifying)
	g.Expect(*w.record).To(And(HaveField("From", "as a"), HaveField("To", "as c"), HaveField("Steps", 2), HaveField("Name", "step c")))
	g.Expect(w.at(200)).To(Equal(transition.Decision{}), "it has arrived")
}

// What mends a broken network must not wait until it is well. What was written before must be everywhere, since
// nodes that have not changed yet may not understand those at the first step.
func TestTheFirstStepWaitsForNodesButNotForConnectivity(t *testing.T) {
	w := fromA(t)
	w.seen.Connectivity = talking(corev1beta1.ConditionFalse, -60)
	w.seen.Agents[0].Updated = 1
	w.is(0, 0, transition.RollingOut)
	w.seen.Agents[0].Updated = 3
	w.seen.Unmet = errors.New("node two has no route")
	w.is(1, 0, transition.WaitingForNodes)
	NewWithT(t).Expect(w.record.Describe(nil, nil)).To(Equal("Before the first of 2 steps. Waiting until the nodes are ready for the next step: node two has no route. The annotation trellis.network/transition: at-once makes the change at once."))
	w.seen.Unmet = nil
	w.is(2, 1, transition.Applying)
}

func TestAStepThatBreaksConnectivityIsTheLast(t *testing.T) {
	g := NewWithT(t)
	w := fromA(t)
	w.is(0, 1, transition.Applying)
	w.is(10, 1, transition.Verifying)
	w.seen.Connectivity = talking(corev1beta1.ConditionFalse, 60)
	w.is(60, 1, transition.Halted)
	w.is(1000, 1, transition.Halted)
	g.Expect(w.record.Describe([]corev1beta1.Condition{*w.seen.Connectivity}, nil)).To(HavePrefix(
		"Step 1 of 2: step b. The change has stopped here, since pods do not reach each other. Nodes one and two: the test pods fails between them. It goes on once they do."))

	w.seen.Connectivity = talking(corev1beta1.ConditionTrue, 1010)
	w.is(1099, 1, transition.Verifying)
	w.is(1100, 2, transition.Applying)
}

// It is not known that pods talk: that is neither a reason to go on nor one to tell users of an outage.
func TestWhatIsUnknownDoesNotGoOn(t *testing.T) {
	w := fromA(t)
	w.is(0, 1, transition.Applying)
	for _, unknown := range []*corev1beta1.Condition{nil, talking(corev1beta1.ConditionUnknown, 1)} {
		w.seen.Connectivity = unknown
		w.is(1000, 1, transition.Verifying)
	}
	w = fromA(t)
	w.is(0, 1, transition.Applying)
	w.seen.Agents, w.seen.AgentsError = nil, errors.New("the shoot does not answer")
	w.is(1000, 1, transition.Unobserved)
}

func TestWithoutProbesAStepStaysForAWhile(t *testing.T) {
	w := fromA(t)
	w.seen.WithoutProbes, w.seen.Connectivity = true, talking(corev1beta1.ConditionFalse, -1)
	w.is(0, 1, transition.Applying)
	w.is(10, 1, transition.Verifying)
	w.is(309, 1, transition.Verifying)
	w.is(310, 2, transition.Applying)
}

// Between one node and none there is nothing that could be lost.
func TestOneNodeDoesNotWaitForOthers(t *testing.T) {
	for nodes := range int32(2) {
		w := fromA(t)
		w.seen.Connectivity = talking(corev1beta1.ConditionFalse, -1)
		w.seen.Agents[0] = transition.Agent{Nodes: nodes, Updated: nodes, Available: nodes, Observed: true}
		w.is(0, 1, transition.Applying)
		w.is(1, 2, transition.Applying)
		NewWithT(t).Expect(w.at(2).Record).To(BeNil())
	}
}

// A spec that is turned back while pods do not reach each other walks back at once: nodes have that config already.
func TestASpecThatIsTurnedBackWalksBack(t *testing.T) {
	g := NewWithT(t)
	w := fromA(t)
	w.is(0, 1, transition.Applying)
	w.is(10, 1, transition.Verifying)
	w.is(100, 2, transition.Applying)
	w.seen.Connectivity, w.seen.Agents[0].Updated = talking(corev1beta1.ConditionFalse, 110), 1
	w.is(120, 2, transition.Halted)

	w.way = []string{"b", "a"}
	w.is(121, 1, transition.Applying)
	g.Expect(w.present).To(Equal("b"))
	w.is(122, 1, transition.Halted) // until b has mended it
	w.seen.Connectivity, w.seen.Agents[0].Updated = talking(corev1beta1.ConditionTrue, 130), 3
	w.is(140, 1, transition.Verifying)
	w.is(230, 2, transition.Applying)
	g.Expect(w.present).To(Equal("a"))
	w.is(240, 2, transition.Verifying)
	g.Expect(w.at(330).Record).To(BeNil())
}

// Nodes may still have the config before the step, which those at the first step of another way need not understand.
func TestAnotherTargetWaitsUntilTheStepIsEverywhere(t *testing.T) {
	w := fromA(t)
	w.is(0, 1, transition.Applying)
	w.seen.Agents[0].Updated = 1
	w.way = []string{"d", "e"}
	w.is(10, 0, transition.RollingOut)
	w.seen.Agents[0].Updated = 3
	w.is(20, 1, transition.Applying)
	NewWithT(t).Expect(w.present).To(Equal("d"))
}

// Nodes that join begin with the step, and do not put it off.
func TestNodesThatJoinDoNotDelayAStep(t *testing.T) {
	w := fromA(t)
	w.is(0, 1, transition.Applying)
	w.is(10, 1, transition.Verifying)
	w.seen.Agents[0].Nodes = 4
	w.is(50, 1, transition.Verifying)
	w.is(100, 2, transition.Applying)
}

// A clock that is set back makes a step stay longer, and does not make it go on too early.
func TestAClockThatIsSetBack(t *testing.T) {
	w := fromA(t)
	w.is(0, 1, transition.Applying)
	w.is(1000, 1, transition.Verifying)
	w.is(20, 1, transition.Verifying)
	w.is(109, 1, transition.Verifying)
	w.is(110, 2, transition.Applying)
}
