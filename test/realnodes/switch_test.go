// SPDX-License-Identifier: Apache-2.0

package realnodes

import (
	"fmt"
	"os"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/test/sandbox"
	"github.com/trellis-network/trellis/test/standalone"
)

// dropped is how many datagrams of one sender a change of the backend may cost, of one each five
// milliseconds. Each of the two nodes replaces its route to the other one once: host-gw deletes the
// old one and adds its own. What is sent between the two is lost, which is one datagram on the way
// there and one on the way back at most, and usually none. The limit is higher because on a busy
// machine other processes may run between the two.
const dropped = 10

func TestAnEditOfTheBackendHardlyDropsPackets(t *testing.T) {
	sideBySide(t, 4*time.Minute)
	l := newLandscape(t, 2, withBackend("vxlan"))
	flannel := l.awaitRollout(0)
	hasStarted(t)
	servers := l.servers("node-1", "node-2")
	for _, each := range []struct{ name, backend, device string }{
		{"vxlan to host-gw", "host-gw", "eth0"},
		{"host-gw to vxlan", "vxlan", "flannel.1"},
	} {
		undisturbed(func() {
			traffic := l.send(servers)
			began := time.Now()
			l.Expect(l.shoot.Edit(t.Context(), withBackend(each.backend))).To(Succeed())
			flannel = l.awaitRollout(flannel)
			took := time.Since(began)
			for _, node := range []string{"node-1", "node-2"} {
				l.Expect(l.routes(node, "-4")).To(ContainSubstring(" dev "+each.device), node)
			}
			l.hardlyDrops(traffic, fmt.Sprintf("%s, %.0f s", each.name, took.Seconds()))
		})
	}

	// What is lost is counted: of the second without a link, most of two hundred datagrams.
	traffic := l.send(servers)
	node := l.node("node-2")
	l.Expect(node.Fault(t.Context(), sandbox.Faults{LinkDown: true})).To(Succeed())
	cut := time.Now()
	l.Eventually(func() time.Duration { return time.Since(cut) }).Should(BeNumerically(">", time.Second))
	l.Expect(node.Heal(t.Context())).To(Succeed())
	for _, report := range l.end(traffic, "link down for a second") {
		l.Expect(report.UDP.Lost).To(And(BeNumerically(">", 100), BeNumerically("<", report.UDP.Sent)), "%+v", report)
	}
}

// hardlyDrops ends the load, of which next to nothing may have been lost, and returns the report of the
// pair that has lost most, with the slowest requests of all pairs.
func (l *landscape) hardlyDrops(load *standalone.Load, during string) (worst standalone.Report) {
	l.t.Helper()
	var slowest, slowestKept float64
	for _, report := range l.end(load, during) {
		slowest, slowestKept = max(slowest, report.HTTP.SlowestMilliseconds), max(slowestKept, report.Kept.SlowestMilliseconds)
		l.Expect(report.UDP.Sent).To(BeNumerically(">", 1000), "%+v", report)
		l.Expect(report.UDP.Lost).To(BeNumerically("<=", dropped), "%+v", report)
		l.Expect(report.HTTP.Sent).To(BeNumerically(">", 100), "%+v", report)
		l.Expect(report.HTTP.Lost).To(BeZero(), "%+v", report)
		l.Expect(report.Kept.Sent).To(BeNumerically(">", 100), "%+v", report)
		l.Expect(report.Kept.Lost).To(BeZero(), "%+v", report)
		if worst.UDP.Sent == 0 || report.UDP.Lost > worst.UDP.Lost {
			worst = report
		}
	}
	worst.HTTP.SlowestMilliseconds, worst.Kept.SlowestMilliseconds = slowest, slowestKept
	return worst
}

// withBackend edits the Shoot's network, which is changed at once.
func withBackend(name string) func(shoot *unstructured.Unstructured) {
	return func(shoot *unstructured.Unstructured) {
		annotations := shoot.GetAnnotations()
		if annotations == nil {
			annotations = map[string]string{}
		}
		annotations[extensionsv1alpha1.TransitionAnnotation] = extensionsv1alpha1.TransitionAtOnce
		shoot.SetAnnotations(annotations)
		_ = unstructured.SetNestedMap(shoot.Object, map[string]any{"type": name}, "spec", "networking", "providerConfig", "backend")
	}
}

// awaitRollout waits until all nodes have the daemon of a later generation of flannel's DaemonSet,
// and returns that generation.
func (l *landscape) awaitRollout(after int64) int64 {
	l.t.Helper()
	daemons := &appsv1.DaemonSet{}
	l.Eventually(func(g Gomega) {
		g.Expect(l.shoot.Cluster.Get(l.t.Context(), client.ObjectKey{Namespace: metav1.NamespaceSystem, Name: "kube-flannel-ds"}, daemons)).To(Succeed())
		g.Expect(daemons.Generation).To(BeNumerically(">", after))
		g.Expect(daemons.Status).To(SatisfyAll(HaveField("ObservedGeneration", daemons.Generation),
			HaveField("UpdatedNumberScheduled", int32(l.Shoots[0].Nodes)), HaveField("NumberAvailable", int32(l.Shoots[0].Nodes))))
	}).Should(Succeed())
	return daemons.Generation
}

// routes returns a node's routes to pods of other nodes, of the family -4 or -6.
func (l *landscape) routes(node, family string) string {
	l.t.Helper()
	output, err := l.node(node).Exec(l.t.Context(), "sh", "-c", "ip "+family+" route show | sed '/ via /!d; /^default/d'")
	l.Expect(err).NotTo(HaveOccurred())
	return string(output)
}

// servers starts what answers traffic on nodes.
func (l *landscape) servers(nodes ...string) []*corev1.Pod {
	l.t.Helper()
	servers, err := l.shoot.Servers(l.t.Context(), nodes...)
	l.Expect(err).NotTo(HaveOccurred())
	return servers
}

// send starts to send between the nodes of all servers, in both directions.
func (l *landscape) send(servers []*corev1.Pod) *standalone.Load {
	l.t.Helper()
	load, err := l.shoot.Send(l.t.Context(), servers)
	l.Expect(err).NotTo(HaveOccurred())
	return load
}

// end ends the load, prints what has become of it, and returns it for each direction.
func (l *landscape) end(load *standalone.Load, during string) []standalone.Report {
	l.t.Helper()
	reports, err := load.End(l.t.Context())
	l.Expect(err).NotTo(HaveOccurred())
	for _, is := range reports {
		fmt.Fprintf(os.Stderr, "%s, %s\n", during, is)
	}
	return reports
}
