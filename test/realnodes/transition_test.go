// SPDX-License-Identifier: Apache-2.0

package realnodes

import (
	"encoding/json"
	"flag"
	"fmt"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/internal/condition"
	"github.com/trellis-network/trellis/test/sandbox"
	"github.com/trellis-network/trellis/test/standalone"
)

var transitions = flag.Bool("transitions", false, "change networks in steps, which takes a quarter of an hour; make e2e-transitions sets it")

// arrives is how long a change in steps may take: two roll-outs, and after each the time in which pods must talk.
const arrives = 8 * time.Minute

// changesSideBySide is sideBySide for tests that only make e2e-transitions runs.
func changesSideBySide(t *testing.T, takes time.Duration) {
	t.Helper()
	if !*transitions {
		t.Skip("make e2e-transitions runs this: it takes a quarter of an hour")
	}
	sideBySide(t, takes)
}

// Of what each of three nodes sends to each other one, a change in steps costs as little as one that is made
// at once, though nodes change a route twice instead of once.
func TestAChangeInStepsHardlyDropsPackets(t *testing.T) {
	changesSideBySide(t, 14*time.Minute)
	l := newLandscape(t, 3, withBackend("vxlan"))
	l.talks()
	flannel := l.awaitRollout(0)
	servers := l.servers("node-1", "node-2", "node-3")
	text := &strings.Builder{}
	table := tabwriter.NewWriter(text, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "CHANGE\tMADE\tTOOK\tDATAGRAMS OF A PAIR\tMOST LOST\tHTTP REQUESTS\tFAILED\tSLOWEST")
	for _, change := range []struct{ from, to, device string }{{"vxlan", "host-gw", "eth0"}, {"host-gw", "vxlan", "flannel.1"}} {
		for _, made := range []struct {
			how  string
			edit func(*unstructured.Unstructured)
		}{{"at once", withBackend(change.to)}, {"in steps", inSteps(change.to)}} {
			if made.how == "in steps" { // from the beginning again
				l.Expect(l.shoot.Edit(t.Context(), withBackend(change.from))).To(Succeed())
				flannel = l.awaitRollout(flannel)
				l.becomes(Equal(standalone.AllWell), repaired)
			}
			load, began := l.send(servers), time.Now()
			l.Expect(l.shoot.Edit(t.Context(), made.edit)).To(Succeed())
			l.arrivesAt(change.to)
			flannel = l.awaitRollout(flannel)
			took := time.Since(began)
			for _, node := range []string{"node-1", "node-2", "node-3"} {
				l.Expect(l.routes(node, "-4")).To(ContainSubstring(" dev "+change.device), node)
			}
			worst := l.hardlyDrops(load, fmt.Sprintf("%s to %s %s", change.from, change.to, made.how))
			fmt.Fprintf(table, "%s to %s\t%s\t%.0f s\t%d\t%d\t%d\t%d\t%.0f ms\n", change.from, change.to, made.how, took.Seconds(),
				worst.UDP.Sent, worst.UDP.Lost, worst.HTTP.Sent+worst.Kept.Sent, worst.HTTP.Lost+worst.Kept.Lost,
				max(worst.HTTP.SlowestMilliseconds, worst.Kept.SlowestMilliseconds))
		}
	}
	l.Expect(table.Flush()).To(Succeed())
	t.Logf("three nodes, six pairs, a datagram each %s\n%s", standalone.Every, text)
}

// A wrong route, as an administrator may leave one, breaks a step. The change goes no further, tells between
// which nodes pods do not talk, and goes on once the route is gone.
func TestAChangeInStepsHaltsWhileANodeHasAWrongRoute(t *testing.T) {
	changesSideBySide(t, 9*time.Minute)
	l := newLandscape(t, 3, withBackend("vxlan"))
	l.talks()
	l.Expect(l.shoot.Edit(t.Context(), inSteps("host-gw"))).To(Succeed())
	l.Eventually(l.transition).Should(HaveValue(HaveField("Step", int32(1))))
	l.restsBefore(pairFails)

	node := &corev1.Node{}
	l.Expect(l.shoot.Cluster.Get(t.Context(), client.ObjectKey{Name: "node-2"}, node)).To(Succeed())
	route := func(verb string) {
		t.Helper()
		command := fmt.Sprintf("ip route %s blackhole %s table 98 && ip rule %s to %s lookup 98 pref 98", verb, node.Spec.PodCIDR, verb, node.Spec.PodCIDR)
		_, err := l.node("node-1").Exec(t.Context(), "sh", "-c", command)
		l.Expect(err).NotTo(HaveOccurred())
	}
	began := time.Now()
	route("add")
	l.Eventually(l.progress).WithTimeout(pairFails).Should(And(HaveField("Status", corev1beta1.ConditionFalse),
		HaveField("Reason", "ConnectivityLost"), HaveField("Message", MatchRegexp("Nodes? node-1.* the test pods fails .*"))), l.evidence)
	l.Expect(l.progress().Message).To(ContainSubstring("node-2"), "the probe on one of the two may find it before the other one does")
	t.Logf("a wrong route was told after %.1f s: %s", time.Since(began).Seconds(), l.progress().Message)
	l.Expect(l.transition()).To(HaveValue(HaveField("Step", int32(1))), "the next step waits")

	mended := time.Now()
	route("del")
	l.Eventually(l.progress).WithTimeout(repaired).Should(HaveField("Status", corev1beta1.ConditionTrue), l.evidence)
	t.Logf("the change went on %.1f s after the repair", time.Since(mended).Seconds())
	l.arrivesAt("host-gw")
	l.Expect(l.verdict()).To(Equal(standalone.AllWell))
}

// host-gw cannot work between two subnets, which only its step shows. With the former configuration the
// network goes back the way that it came.
func TestAChangeInStepsGoesBackTheWayThatItCame(t *testing.T) {
	changesSideBySide(t, 10*time.Minute)
	l := newLandscapeOf(t, sandbox.RealNodes{Nodes: 3, Subnets: 2}, withBackend("vxlan"))
	l.talks()
	l.Expect(l.shoot.Edit(t.Context(), inSteps("host-gw"))).To(Succeed())
	l.Eventually(l.transition).Should(HaveValue(HaveField("Step", int32(1))))
	l.Eventually(l.transition).WithTimeout(arrives).Should(HaveValue(HaveField("Step", int32(2))))
	l.Eventually(l.progress).WithTimeout(arrives).Should(And(HaveField("Status", corev1beta1.ConditionFalse),
		HaveField("Reason", "ConnectivityLost"), HaveField("Message", And(ContainSubstring("Step 2 of 2"), ContainSubstring("the test pods fails")))), l.evidence)
	t.Logf("host-gw between two subnets: %s", l.progress().Message)

	l.Expect(l.shoot.Edit(t.Context(), inSteps("vxlan"))).To(Succeed())
	turned := time.Now()
	l.becomes(Equal(standalone.AllWell), arrives)
	t.Logf("pods talked again %.1f s after the former configuration was written again", time.Since(turned).Seconds())
	l.arrivesAt("vxlan")
	l.Expect(l.verdict()).To(Equal(standalone.AllWell))
	l.Expect(l.progress().Status).To(BeEmpty(), "the condition is gone with the change")
}

// inSteps edits the Shoot's network, which is changed in steps.
func inSteps(backend string) func(shoot *unstructured.Unstructured) {
	return func(shoot *unstructured.Unstructured) {
		withBackend(backend)(shoot)
		annotations := shoot.GetAnnotations()
		delete(annotations, extensionsv1alpha1.TransitionAnnotation)
		shoot.SetAnnotations(annotations)
	}
}

// arrivesAt waits until the network is what its spec asks for.
func (l *landscape) arrivesAt(backend string) {
	l.t.Helper()
	l.Eventually(func(g Gomega) {
		stated := l.stated(g)
		g.Expect(stated.Transition).To(BeNil())
		g.Expect(stated.Config.Backend.Type).To(Equal(backend))
		g.Expect(stated.Config.Backend.DirectRouting).To(BeFalse())
	}).WithTimeout(arrives).Should(Succeed(), l.evidence)
}

// stated is the part of the providerStatus that is about a change in steps.
type stated struct {
	Transition *extensionsv1alpha1.NetworkTransition
	Config     struct {
		Backend struct {
			Type          string
			DirectRouting bool
		}
	}
}

func (l *landscape) stated(g Gomega) (is stated) {
	network, err := l.shoot.Network(l.t.Context())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(json.Unmarshal(network.Status.ProviderStatus.Raw, &is)).To(Succeed())
	return is
}

// transition is what the providerStatus tells of a change in steps; nil if there is none.
func (l *landscape) transition() *extensionsv1alpha1.NetworkTransition { return l.stated(l).Transition }

// progress is the condition about a change in steps, without a status if there is none.
func (l *landscape) progress() corev1beta1.Condition {
	network, err := l.shoot.Network(l.t.Context())
	l.Expect(err).NotTo(HaveOccurred())
	return condition.Value(network.Status.Conditions, extensionsv1alpha1.TransitionProgressing)
}
