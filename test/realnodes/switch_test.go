// SPDX-License-Identifier: Apache-2.0

package realnodes

import (
	"encoding/json"
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

	"github.com/trellis-network/trellis/test/sandbox"
)

// dropped is how many datagrams of one sender a change of the backend may cost, of one each five
// milliseconds. Each of the two nodes replaces its route to the other one once: host-gw deletes the
// old one and adds its own. What is sent between the two is lost, which is one datagram on the way
// there and one on the way back at most, and usually none. The limit is higher because on a busy
// machine other processes may run between the two.
const dropped = 10

func TestAnEditOfTheBackendHardlyDropsPackets(t *testing.T) {
	t.Parallel()
	l := newLandscape(t, 2, withBackend("vxlan"))
	flannel := l.awaitRollout(0)
	servers := []string{l.serve("node-1"), l.serve("node-2")}
	for _, each := range []struct{ name, backend, device string }{
		{"vxlan to host-gw", "host-gw", "eth0"},
		{"host-gw to vxlan", "vxlan", "flannel.1"},
	} {
		traffic := l.send(servers)
		began := time.Now()
		l.edit(withBackend(each.backend))
		flannel = l.awaitRollout(flannel)
		took := time.Since(began)
		for _, node := range []string{"node-1", "node-2"} {
			l.Expect(l.routes(node)).To(ContainSubstring(" dev "+each.device), node)
		}
		for _, report := range traffic.end(fmt.Sprintf("%s, %.0f s", each.name, took.Seconds())) {
			l.Expect(report.UDP.Sent).To(BeNumerically(">", 1000), "%+v", report)
			l.Expect(report.UDP.Lost).To(BeNumerically("<=", dropped), "%+v", report)
			l.Expect(report.HTTP.Sent).To(BeNumerically(">", 100), "%+v", report)
			l.Expect(report.HTTP.Lost).To(BeZero(), "%+v", report)
		}
	}

	// What is lost is counted: of the second without a link, most of two hundred datagrams.
	traffic := l.send(servers)
	node := l.box.Node(l.box.Shoots[0], "node-2")
	l.Expect(node.Fault(t.Context(), sandbox.Faults{LinkDown: true})).To(Succeed())
	cut := time.Now()
	l.Eventually(func() time.Duration { return time.Since(cut) }).Should(BeNumerically(">", time.Second))
	l.Expect(node.Heal(t.Context())).To(Succeed())
	for _, report := range traffic.end("link down for a second") {
		l.Expect(report.UDP.Lost).To(And(BeNumerically(">", 100), BeNumerically("<", report.UDP.Sent)), "%+v", report)
	}
}

// withBackend edits the Shoot's network.
func withBackend(name string) func(shoot *unstructured.Unstructured) {
	return func(shoot *unstructured.Unstructured) {
		_ = unstructured.SetNestedMap(shoot.Object, map[string]any{"type": name}, "spec", "networking", "providerConfig", "backend")
	}
}

// edit edits the Shoot, as its user does.
func (l *landscape) edit(edit func(shoot *unstructured.Unstructured)) {
	l.t.Helper()
	l.Eventually(func(g Gomega) {
		shoot := &unstructured.Unstructured{}
		shoot.SetAPIVersion("core.gardener.cloud/v1beta1")
		shoot.SetKind("Shoot")
		g.Expect(l.seed.Get(l.t.Context(), client.ObjectKey{Namespace: "garden-dev", Name: "flannel"}, shoot)).To(Succeed())
		edit(shoot)
		g.Expect(l.seed.Update(l.t.Context(), shoot)).To(Succeed())
	}).Should(Succeed())
}

// awaitRollout waits until all nodes have the daemon of a later generation of flannel's DaemonSet,
// and returns that generation.
func (l *landscape) awaitRollout(after int64) int64 {
	l.t.Helper()
	daemons := &appsv1.DaemonSet{}
	l.Eventually(func(g Gomega) {
		g.Expect(l.shoot.Get(l.t.Context(), client.ObjectKey{Namespace: metav1.NamespaceSystem, Name: "kube-flannel-ds"}, daemons)).To(Succeed())
		g.Expect(daemons.Generation).To(BeNumerically(">", after))
		g.Expect(daemons.Status).To(SatisfyAll(HaveField("ObservedGeneration", daemons.Generation),
			HaveField("UpdatedNumberScheduled", int32(2)), HaveField("NumberAvailable", int32(2))))
	}).Should(Succeed())
	return daemons.Generation
}

// routes returns a node's routes to pods of other nodes.
func (l *landscape) routes(node string) string {
	l.t.Helper()
	output, err := l.box.Node(l.box.Shoots[0], node).Exec(l.t.Context(), "sh", "-c", "ip route show | grep ' via '| grep -v ^default")
	l.Expect(err).NotTo(HaveOccurred())
	return string(output)
}

// run creates a pod on a node that runs the program traffic, and waits until it runs.
func (l *landscape) run(name, node string, args ...string) *corev1.Pod {
	l.t.Helper()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{GenerateName: name + "-", Namespace: metav1.NamespaceDefault}, Spec: corev1.PodSpec{
		NodeName: node, RestartPolicy: corev1.RestartPolicyNever,
		Containers: []corev1.Container{{Name: "traffic", Image: "sandbox.invalid/traffic:v1", Args: args}},
	}}
	l.Expect(l.shoot.Create(l.t.Context(), pod)).To(Succeed())
	l.Eventually(func(g Gomega) {
		g.Expect(l.shoot.Get(l.t.Context(), client.ObjectKeyFromObject(pod), pod)).To(Succeed())
		g.Expect(pod.Status.Phase).To(Equal(corev1.PodRunning))
	}).Should(Succeed())
	return pod
}

// serve runs a pod that answers, and returns its address.
func (l *landscape) serve(node string) string {
	l.t.Helper()
	return l.run("serve", node, "serve").Status.PodIP
}

// traffic is a load between two nodes, in both directions.
type traffic struct {
	*landscape
	senders []*corev1.Pod
}

// report is what the program traffic prints at its end.
type report struct {
	UDP, HTTP struct {
		Sent, Lost          int
		SlowestMilliseconds float64
	}
	Gaps   []struct{ Lost int }
	Errors []string
}

// send starts to send datagrams and HTTP requests from each node to the server on the other one.
func (l *landscape) send(servers []string) *traffic {
	l.t.Helper()
	load := &traffic{landscape: l}
	for i, node := range []string{"node-1", "node-2"} {
		load.senders = append(load.senders, l.run("send", node, "send", "-every=5ms", "-http-every=50ms", "-timeout=5s", "-for=15m", "-to", servers[1-i]+":8080"))
	}
	return load
}

// end ends the load, prints what has become of it, and returns it for each direction.
func (t *traffic) end(during string) []report {
	t.t.Helper()
	for _, sender := range t.senders {
		t.kubectl("exec", sender.Name, "--", "sh", "-c", "kill -TERM 1")
	}
	var reports []report
	for _, sender := range t.senders {
		t.Eventually(func(g Gomega) {
			g.Expect(t.shoot.Get(t.t.Context(), client.ObjectKeyFromObject(sender), sender)).To(Succeed())
			g.Expect(sender.Status.Phase).To(Equal(corev1.PodSucceeded))
		}).Should(Succeed())
		is := report{}
		t.Expect(json.Unmarshal([]byte(t.kubectl("logs", sender.Name)), &is)).To(Succeed())
		fmt.Fprintf(os.Stderr, "%s, from %s: of %d datagrams, one each 5 ms, %d were lost; of %d HTTP requests %d failed, the slowest took %.0f ms\n",
			during, sender.Spec.NodeName, is.UDP.Sent, is.UDP.Lost, is.HTTP.Sent, is.HTTP.Lost, is.HTTP.SlowestMilliseconds)
		reports = append(reports, is)
	}
	return reports
}
