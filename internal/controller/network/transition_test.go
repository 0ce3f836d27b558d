// SPDX-License-Identifier: Apache-2.0

package network_test

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	resourcesv1alpha1 "github.com/trellis-network/trellis/api/resources/v1alpha1"
	"github.com/trellis-network/trellis/internal/condition"
	"github.com/trellis-network/trellis/internal/controller/network"
	"github.com/trellis-network/trellis/internal/state"
	"github.com/trellis-network/trellis/internal/transition"
	"github.com/trellis-network/trellis/pipeline"
	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/test/harness"
)

// line is the way of the backends: each is understood by nodes with one beside it only.
var line = []string{"overlay", "both", "some", "native"}

// steppingPlugin goes along the line. Its agents are in the namespace of the test.
type steppingPlugin struct{ examplePlugin }

func place(backend string) int {
	for i, each := range line {
		if each == backend {
			return i
		}
	}
	return -1
}

func (steppingPlugin) Transition(before, after plugin.State[exampleConfig]) []plugin.Step[exampleConfig] {
	var steps []plugin.Step[exampleConfig]
	for at, to := place(before.Config.Backend), place(after.Config.Backend); at >= 0 && to >= 0 && at != to; {
		if at < to {
			at++
		} else {
			at--
		}
		config := *after.Config
		config.Backend = line[at]
		step := plugin.Step[exampleConfig]{Name: "the backend " + line[at], Config: &config}
		if after.Config.Extras == "prepared" && at == place("some") {
			step.Precondition = &plugin.Precondition{Condition: "Prepared", Status: corev1.ConditionTrue, Reason: "Verified", Explanation: "pods need prepared nodes"}
		}
		steps = append(steps, step)
	}
	return steps
}

func (steppingPlugin) Classify(change plugin.Change[exampleConfig]) (plugin.ChangeClass, string) {
	if change.Path == "backend" {
		if distance := place(change.Before.Config.Backend) - place(change.After.Config.Backend); distance > 1 || distance < -1 {
			return plugin.Disruptive, "nodes do not understand each other"
		}
	}
	return plugin.Rolling, "agents restart"
}

func (p steppingPlugin) Render(effective *exampleConfig, in *plugin.Input) (plugin.Objects, error) {
	objects, err := p.examplePlugin.Render(effective, in)
	objects.Components[0].Namespace = in.Namespace
	return objects, err
}

// stepping is a network that has a plugin with steps, and nodes with agents.
type stepping struct {
	*env
	clock  *clocktesting.FakePassiveClock
	agents *appsv1.DaemonSet
	pokes  int
}

func newStepping(t *testing.T, change ...func(*network.Options)) *stepping {
	t.Helper()
	s := &stepping{clock: clocktesting.NewFakePassiveClock(time.Now())}
	s.env = setup(t, append([]func(*network.Options){func(options *network.Options) {
		built, err := pipeline.New([]plugin.Plugin{plugin.New(steppingPlugin{})}, nil)
		NewWithT(t).Expect(err).NotTo(HaveOccurred())
		options.Pipeline, options.Clock = built, s.clock
	}}, change...)...)
	s.withShoot()
	labels := map[string]string{"app": "agent"}
	s.agents = &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Name: "agent", Namespace: s.namespace}, Spec: appsv1.DaemonSetSpec{
		Selector: &metav1.LabelSelector{MatchLabels: labels},
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "agent", Image: "agent"}}}},
	}}
	s.Expect(s.client.Create(t.Context(), s.agents)).To(Succeed())
	s.runs(3)
	return s
}

func withProbes(options *network.Options) { options.Probe = &plugin.Probe{} }

// runs has the agents of so many of three nodes be up to date.
func (s *stepping) runs(updated int32) {
	s.t.Helper()
	s.has(3, updated, 3)
}

// talk has the condition say whether pods talk.
func (s *stepping) talk(n *extensionsv1alpha1.Network, status corev1beta1.ConditionStatus, message string) {
	s.t.Helper()
	s.get(n)
	before := n.DeepCopy()
	n.Status.Conditions, _ = condition.Set(n.Status.Conditions, corev1beta1.Condition{
		Type: extensionsv1alpha1.PodNetworkAvailable, Status: status, Reason: "Example", Message: message,
	}, s.clock.Now())
	s.Expect(s.client.Status().Patch(s.t.Context(), n, client.MergeFrom(before))).To(Succeed())
}

// later lets time pass, and has the controller look.
func (s *stepping) later(d time.Duration) {
	s.t.Helper()
	s.clock.SetTime(s.clock.Now().Add(d))
	s.poke()
}

// poke has the controller look at the Network, as it does every ten seconds.
func (s *stepping) poke() {
	s.t.Helper()
	s.pokes++
	harness.Change(s.t, s.client, s.managedResource(), func(mr *resourcesv1alpha1.ManagedResource) {
		metav1.SetMetaDataAnnotation(&mr.ObjectMeta, "example/poke", fmt.Sprint(s.pokes))
	})
}

// at waits until the network is at a step, in one of the phases.
func (s *stepping) at(n *extensionsv1alpha1.Network, step int, phases ...transition.Phase) *transition.Record {
	s.t.Helper()
	var record *transition.Record
	s.Eventually(func(g Gomega) {
		s.get(n)
		kept, err := state.Decode(n.Status.State)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(kept.Transition).NotTo(BeNil())
		g.Expect(kept.Transition.Step).To(Equal(step))
		g.Expect(kept.Transition.Phase).To(BeElementOf(phases))
		record = kept.Transition
	}).Should(Succeed())
	return record
}

// arrived waits until there is no transition.
func (s *stepping) arrived(n *extensionsv1alpha1.Network) {
	s.t.Helper()
	s.Eventually(func(g Gomega) {
		s.get(n)
		kept, err := state.Decode(n.Status.State)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(kept.Transition).To(BeNil())
	}).Should(Succeed())
}

// writes waits until the bundle has this backend, and has the resource manager apply it.
func (s *stepping) writes(n *extensionsv1alpha1.Network, backend string) {
	s.t.Helper()
	s.Eventually(s.written).Should(Equal(backend))
	s.applied()
	s.Eventually(func(g Gomega) {
		s.get(n)
		g.Expect(n.HasSucceeded()).To(BeTrue())
		g.Expect(string(n.Status.ProviderStatus.Raw)).To(ContainSubstring(`"backend":"` + backend + `"`))
	}).Should(Succeed())
}

func TestAChangeIsMadeInSteps(t *testing.T) {
	for name, inMode := range map[string]func(*network.Options){"Gardener": inGardener, "standalone": func(*network.Options) {}} {
		t.Run(name, func(t *testing.T) {
			s := newStepping(t, inMode, withProbes)
			asked := func(n *extensionsv1alpha1.Network) {
				if name == "Gardener" {
					asking("reconcile")(n)
				}
			}
			n := s.finished(asked)
			s.talk(n, corev1beta1.ConditionTrue, "Pods reach each other.")
			s.patch(n, func(n *extensionsv1alpha1.Network) { withConfig(`{"backend":"some"}`)(n); asked(n) })
			s.Eventually(s.written).Should(Equal("both"))
			s.runs(1)
			s.writes(n, "both")
			s.Expect(n.Status.ObservedGeneration).To(Equal(n.Generation))
			s.at(n, 1, transition.Applying)
			s.poke()
			s.at(n, 1, transition.RollingOut)
			s.later(time.Hour)
			s.runs(3)
			s.poke()
			s.at(n, 1, transition.Verifying)
			s.stays(s.managedResource())
			s.later(2 * time.Minute)
			s.Eventually(s.written).Should(Equal("some"))
			s.writes(n, "some")
			s.poke()
			record := s.at(n, 2, transition.Verifying)
			s.Expect(record.Steps).To(Equal(2))
			s.later(2 * time.Minute)
			s.arrived(n)
			s.Eventually(s.events).Should(ContainElements(
				"Normal TransitionStep: Step 1 of 2: the backend both", "Normal TransitionStep: Step 2 of 2: the backend some",
				"Normal TransitionSucceeded: The network has become what the spec asks for: the backend some"))
			s.Expect(s.events()).NotTo(ContainElement(ContainSubstring("Disruptive")))

			s.stop()
			s.requests.Forget()
			s.stop = s.start()
			s.stays(n)
			s.Expect(s.requests.Writes()).To(BeEmpty(), "nothing is left to do")
		})
	}
}

func TestAStepThatBreaksConnectivityHalts(t *testing.T) {
	s := newStepping(t, withProbes)
	n := s.finished()
	s.talk(n, corev1beta1.ConditionTrue, "Pods reach each other.")
	s.patch(n, withConfig(`{"backend":"native"}`))
	s.writes(n, "both")
	s.talk(n, corev1beta1.ConditionFalse, "Nodes one and two: the test pods fails between them.")
	s.later(time.Hour)
	s.at(n, 1, transition.Halted)
	s.Eventually(s.events).Should(ContainElement(And(HavePrefix("Warning TransitionHalted: Step 1 of 3: the backend both. "), ContainSubstring("Nodes one and two"))))
	s.stays(s.managedResource())

	t.Log("it is mended")
	s.talk(n, corev1beta1.ConditionTrue, "Pods reach each other.")
	s.poke()
	s.at(n, 1, transition.Verifying)
	s.later(2 * time.Minute)
	s.writes(n, "some")
}

func TestASpecThatIsTurnedBackWalksBack(t *testing.T) {
	s := newStepping(t, withProbes)
	n := s.finished()
	s.talk(n, corev1beta1.ConditionTrue, "Pods reach each other.")
	s.patch(n, withConfig(`{"backend":"native"}`))
	s.writes(n, "both")
	s.poke()
	s.at(n, 1, transition.Verifying)
	s.later(2 * time.Minute)
	s.writes(n, "some")
	s.talk(n, corev1beta1.ConditionFalse, "Nodes one and two: the test pods fails between them.")
	s.poke()
	s.at(n, 2, transition.Halted)

	s.patch(n, withConfig(`{"backend":"overlay"}`))
	s.writes(n, "both")
	s.poke()
	s.at(n, 1, transition.Halted)
	s.talk(n, corev1beta1.ConditionTrue, "Pods reach each other.")
	s.poke()
	s.at(n, 1, transition.Verifying)
	s.later(2 * time.Minute)
	s.writes(n, "overlay")
	s.poke()
	s.at(n, 2, transition.Verifying)
	s.later(2 * time.Minute)
	s.arrived(n)
}

func TestAtOnceMakesTheRestAtOnce(t *testing.T) {
	for name, annotate := range map[string]func(s *stepping, n *extensionsv1alpha1.Network){
		"on the Network": func(s *stepping, n *extensionsv1alpha1.Network) {
			s.patch(n, func(n *extensionsv1alpha1.Network) {
				metav1.SetMetaDataAnnotation(&n.ObjectMeta, extensionsv1alpha1.TransitionAnnotation, extensionsv1alpha1.TransitionAtOnce)
			})
		},
		"on the Shoot": func(s *stepping, _ *extensionsv1alpha1.Network) {
			s.cluster(func(shoot *corev1beta1.Shoot) {
				metav1.SetMetaDataAnnotation(&shoot.ObjectMeta, extensionsv1alpha1.TransitionAnnotation, extensionsv1alpha1.TransitionAtOnce)
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStepping(t)
			n := s.finished()
			s.patch(n, withConfig(`{"backend":"native"}`))
			s.writes(n, "both")
			s.at(n, 1, transition.Applying)
			annotate(s, n)
			s.poke()
			s.writes(n, "native")
			s.arrived(n)
			s.Eventually(s.events).Should(ContainElement(HavePrefix("Warning DisruptiveChange: backend: ")))
		})
	}
}

// Steps are a user's change, which waits for no turn of an update.
func TestStepsDoNotWaitForAnUpdate(t *testing.T) {
	s := newStepping(t, func(options *network.Options) { options.Rollout = strategy("one") })
	n := s.finished()
	s.patch(n, withConfig(`{"backend":"some"}`))
	s.writes(n, "both")
	s.poke()
	s.at(n, 1, transition.Verifying)
	s.later(6 * time.Minute)
	s.writes(n, "some")

	s.patch(n, withConfig(`{"backend":"overlay"}`))
	s.writes(n, "both")
	s.patch(n, func(n *extensionsv1alpha1.Network) {
		metav1.SetMetaDataAnnotation(&n.ObjectMeta, extensionsv1alpha1.TransitionAnnotation, extensionsv1alpha1.TransitionAtOnce)
	})
	s.poke()
	s.writes(n, "overlay")
}

// A cluster that sleeps has no traffic.
func TestAHibernatedClusterTakesNoSteps(t *testing.T) {
	s := newStepping(t)
	n := s.finished()
	s.cluster(func(shoot *corev1beta1.Shoot) {
		shoot.Spec.Hibernation = &corev1beta1.Hibernation{Enabled: ptr.To(true)}
	})
	s.patch(n, withConfig(`{"backend":"native"}`))
	s.Eventually(s.written).Should(Equal("native"))
	s.arrived(n)
}

func TestAStepWaitsForWhatTheNodesMustShow(t *testing.T) {
	s := newStepping(t)
	node := s.node("Pending")
	n := s.finished()
	s.patch(n, withConfig(`{"backend":"some","extras":"prepared"}`))
	s.writes(n, "both")
	s.poke()
	s.at(n, 1, transition.Verifying)
	s.later(6 * time.Minute)
	record := s.at(n, 1, transition.WaitingForNodes)
	s.Expect(record.Unmet).To(Equal("node " + node.Name + " has the condition Prepared=True with the reason Pending"))
	s.Expect(n.HasSucceeded()).To(BeTrue(), "what was written is applied")
	s.setPrepared(node, "Verified")
	s.Eventually(func() string { s.poke(); return s.written() }).Should(Equal("some"))
}

// What a user edits in a landscape counts once it is asked for. Until then the network goes where it was asked to go.
func TestWhatIsNotAskedForDoesNotChangeTheWay(t *testing.T) {
	s := newStepping(t, inGardener)
	n := s.finished(asking("reconcile"))
	s.patch(n, func(n *extensionsv1alpha1.Network) { withConfig(`{"backend":"some"}`)(n); asking("reconcile")(n) })
	s.writes(n, "both")
	s.patch(n, withConfig(`{"backend":"overlay"}`))
	s.restart()
	s.poke()
	s.at(n, 1, transition.Verifying)
	s.later(6 * time.Minute)
	s.writes(n, "some")
	s.Expect(n.Status.ObservedGeneration).To(Equal(n.Generation - 1))
	s.patch(n, asking("reconcile"))
	s.writes(n, "both")
	s.at(n, 1, transition.Applying)
}

// An edit that is refused stops the way, and one that mends it goes on from where the network is.
func TestAnInvalidSpecOnTheWay(t *testing.T) {
	s := newStepping(t)
	n := s.finished()
	s.patch(n, withConfig(`{"backend":"native"}`))
	s.writes(n, "both")
	s.patch(n, withConfig(`{"backend":"unknown"}`))
	s.becomes(n, again, erroneous)
	s.later(time.Hour)
	s.stays(s.managedResource())
	s.Expect(s.written()).To(Equal("both"))
	s.patch(n, withConfig(`{"backend":"some"}`))
	s.Eventually(func(g Gomega) { s.get(n); g.Expect(n.HasSucceeded()).To(BeTrue()) }).Should(Succeed())
	s.Expect(s.written()).To(Equal("both"), "it is at a step on the way to the other target")
	s.Eventually(func() string { s.poke(); return s.written() }).Should(Equal("some"))
}

// The step moves with the control plane.
func TestAControlPlaneMovesAtAStep(t *testing.T) {
	s := newStepping(t, inGardener)
	n := s.finished(asking("reconcile"))
	s.patch(n, func(n *extensionsv1alpha1.Network) { withConfig(`{"backend":"some"}`)(n); asking("reconcile")(n) })
	s.writes(n, "both")
	kept := n.Status.State.DeepCopy()
	mr := s.managedResource()
	s.patch(n, asking("migrate"))
	s.gone(mr)
	s.becomes(n, migrating, fine)
	s.Expect(client.IgnoreNotFound(s.client.Delete(t.Context(), n))).To(Succeed())
	s.gone(n)

	n = s.network(asking("wait-for-state"), withConfig(`{"backend":"some"}`))
	before := n.DeepCopy()
	n.Status.State = kept
	s.Expect(s.client.Status().Patch(t.Context(), n, client.MergeFrom(before))).To(Succeed())
	s.patch(n, asking("restore"))
	s.writes(n, "both")
	s.at(n, 1, transition.Applying, transition.Verifying)
	s.poke()
	s.at(n, 1, transition.Verifying)
	s.later(6 * time.Minute)
	s.writes(n, "some")
}

// walk has the resource manager and the nodes do what they must, and time pass, until the network has arrived, or until
// enough says so. It returns the backends that the network had.
func (s *stepping) walk(n *extensionsv1alpha1.Network, target string, enough func() bool) (had []string) {
	s.t.Helper()
	s.Eventually(func(g Gomega) {
		if now := s.written(); len(had) == 0 || had[len(had)-1] != now {
			had = append(had, now)
		}
		if enough() {
			return
		}
		s.applied()
		s.later(6 * time.Minute)
		s.get(n)
		kept, err := state.Decode(n.Status.State)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect([]any{s.written(), kept.Transition, n.HasSucceeded()}).To(Equal([]any{target, (*transition.Record)(nil), true}))
	}).WithPolling(50 * time.Millisecond).Should(Succeed())
	return had
}

func never() bool { return false }

// dieAfter admits a number of writes, and no more, as if the process had died then.
func (s *stepping) dieAfter(writes int32) (died func() bool) {
	var sent atomic.Int32
	s.requests.Before(func(request *http.Request) error {
		if request.Method != http.MethodGet && sent.Add(1) > writes {
			return errors.New("the process is dead")
		}
		return nil
	})
	return func() bool { return sent.Load() > writes }
}

// Wherever a process dies, the next one goes on, and no step is left out.
func TestKilledAtAnyWriteOfATransition(t *testing.T) {
	for writes := range int32(16) {
		t.Run(fmt.Sprintf("after %d writes", writes), func(t *testing.T) {
			s := newStepping(t)
			n := s.finished()
			died := s.dieAfter(writes)
			s.patch(n, withConfig(`{"backend":"some"}`))
			had := s.walk(n, "some", died)
			s.stop()
			s.requests.Before(nil)
			s.stop = s.start()
			had = append(had, s.walk(n, "some", never)...)
			s.Expect(slices.Compact(had)).To(Equal([]string{"overlay", "both", "some"}))
		})
	}
}

func TestASpecThatIsTurnedBackAtEachStepWalksBack(t *testing.T) {
	for step := 1; step < len(line); step++ {
		t.Run(line[step], func(t *testing.T) {
			s := newStepping(t)
			n := s.finished()
			s.patch(n, withConfig(`{"backend":"native"}`))
			s.walk(n, "native", func() bool { return s.written() == line[step] })
			s.patch(n, withConfig(`{"backend":"overlay"}`))
			had := s.walk(n, "overlay", never)
			back := slices.Clone(line[:step+1])
			slices.Reverse(back)
			if len(had) < len(back) { // the first step back may be written before it is looked at
				back = back[1:]
			}
			s.Expect(had).To(Equal(back))
		})
	}
}

// has says how many nodes there are, how many of them run the step, and how many agents are available.
func (s *stepping) has(nodes, updated, available int32) {
	s.t.Helper()
	before := s.agents.DeepCopy()
	s.agents.Status = appsv1.DaemonSetStatus{ObservedGeneration: s.agents.Generation, DesiredNumberScheduled: nodes, UpdatedNumberScheduled: updated, NumberAvailable: available}
	s.Expect(s.client.Status().Patch(s.t.Context(), s.agents, client.MergeFrom(before))).To(Succeed())
}

// A node that is lost with the agents of the former step keeps the change where it is, however long that
// takes: it may come back. Once the node is deleted, the change goes on.
func TestANodeIsLostAtEachStep(t *testing.T) {
	for step := 1; step < len(line); step++ {
		t.Run(line[step], func(t *testing.T) {
			s := newStepping(t)
			n := s.finished()
			s.patch(n, withConfig(`{"backend":"native"}`))
			s.walk(n, "native", func() bool { return s.written() == line[step] })
			s.has(3, 2, 2)
			s.writes(n, line[step])
			s.later(time.Hour)
			s.at(n, step, transition.RollingOut)
			s.stays(s.managedResource())

			s.has(2, 2, 2)
			had := s.walk(n, "native", never)
			s.Expect(had).To(Equal(line[step:]))
		})
	}
}
