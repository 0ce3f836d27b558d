// SPDX-License-Identifier: Apache-2.0

package flannel

import (
	"os"
	"testing"

	. "github.com/onsi/gomega"
)

// Nodes have run flannel's own CNI plugin, and get Trellis' in its place while pods run.
func TestPodsOutliveTheReplacementOfFlannelsOwnCNIPlugin(t *testing.T) {
	g := NewWithT(t)
	c := newNodes(t, dualStack, oneSegment)
	settings := c.render("")
	for _, n := range c.nodes() {
		n.configure(settings)
		n.install(c.daemon)
		n.installUpstream()
		n.start(c.daemon)
		n.awaitReady(c.daemon)
	}
	old, crashed, other := newPod(c.a, "old"), newPod(c.a, "crashed"), newPod(c.b, "other")
	kept, err := os.ReadFile(c.a.file("/var/lib/cni/flannel/old"))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(kept)).NotTo(ContainSubstring("trellis.network"), "flannel's own plugin has written it")

	// The roll-out: the files, and then the daemon.
	var loops []*loop
	for _, address := range old.addresses() {
		echo(t, old.network(), address)
		loops = append(loops, startLoop(t, other.network(), address))
	}
	c.change("")
	loops[0].awaitSent(400)
	for i, family := range dualStack {
		sent, lost := loops[i].end()
		t.Logf("%s: of %d datagrams, one each 5 ms, %d were lost", family, sent, lost)
		g.Expect(lost).To(BeNumerically("<=", dropped))
	}

	// No address is given twice, and pods of both plugins talk.
	young := newAttachment(c.a, "young")
	young.version = latest
	g.Expect(young.add()).To(Succeed())
	for i := range dualStack {
		g.Expect(young.addresses()[i]).NotTo(BeElementOf(old.addresses()[i], crashed.addresses()[i]))
		g.Expect(exchange(young.network(), old.addresses()[i])).To(Equal(young.addresses()[i]))
	}

	// What flannel's own plugin has made is taken away: of a pod that ends, and of one that is gone.
	g.Expect(old.del()).To(Succeed())
	g.Expect(traces(t, c.a)).NotTo(ContainElement("/var/lib/cni/flannel/old"))
	c.a.run("ip", "netns", "delete", "crashed")
	valid := []map[string]string{{"containerID": "young", "ifname": "eth0"}}
	g.Expect(young.each("GC", false, map[string]any{"cni.dev/valid-attachments": valid})).To(Succeed())
	g.Eventually(func() []string { return traces(t, c.a) }, patience).Should(HaveLen(4), "two addresses, what is kept, and an interface")
	g.Expect(young.check()).To(Succeed())

	// The other direction: flannel's own plugin takes away what Trellis' has made.
	c.a.installUpstream()
	young.version, young.result = "", nil // that version's DEL has no result
	g.Expect(young.del()).To(Succeed())
	g.Expect(traces(t, c.a)).To(BeEmpty())
}

// installUpstream puts flannel's own CNI plugin in the place of Trellis'.
func (n *node) installUpstream() {
	n.t.Helper()
	n.run("cp", "-f", "/upstream-flannel", "/opt/cni/bin/flannel")
}
