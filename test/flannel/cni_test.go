// SPDX-License-Identifier: Apache-2.0

package flannel

import (
	"net/netip"
	"os"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
)

// latest is the CNI specification that has all verbs. Trellis renders 0.3.1.
const latest = "1.1.0"

// traces lists what pods have left on a node: addresses, what the plugin keeps, and interfaces.
func traces(t *testing.T, n *node) []string {
	t.Helper()
	g := NewWithT(t)
	var found []string
	for _, folder := range []string{"/var/lib/cni/networks/cbr0", "/var/lib/cni/flannel"} {
		entries, err := os.ReadDir(n.file(folder))
		g.Expect(err).NotTo(HaveOccurred())
		for _, entry := range entries {
			// Those of host-local's own are its lock and what it gave away last.
			if name := entry.Name(); name != "lock" && !strings.HasPrefix(name, "last_reserved_ip.") {
				found = append(found, folder+"/"+name)
			}
		}
	}
	for line := range strings.Lines(n.run("ip", "-oneline", "link", "show", "type", "veth")) {
		if name := strings.Fields(line)[1]; strings.HasPrefix(name, "veth") {
			found = append(found, name)
		}
	}
	return found
}

func TestDELLeavesNothing(t *testing.T) {
	g := NewWithT(t)
	c := newCluster(t, "", dualStack, oneSegment)
	one := newPod(c.a, "one")
	g.Expect(traces(t, c.a)).To(HaveLen(4), "two addresses, what is kept, and an interface")
	g.Expect(one.del()).To(Succeed())
	g.Expect(traces(t, c.a)).To(BeEmpty())
	g.Expect(one.del()).To(Succeed(), "again")

	t.Run("without what was kept", func(t *testing.T) {
		g := NewWithT(t)
		two := newPod(c.a, "two")
		g.Expect(os.Remove(c.a.file("/var/lib/cni/flannel/two"))).To(Succeed())
		g.Expect(two.del()).To(Succeed())
		g.Expect(traces(t, c.a)).To(BeEmpty())
	})
	t.Run("with other ranges of the daemon", func(t *testing.T) {
		g := NewWithT(t)
		three := newPod(c.a, "three")
		env, err := os.ReadFile(c.a.file("/run/flannel/subnet.env"))
		g.Expect(err).NotTo(HaveOccurred())
		c.a.write("/run/flannel/subnet.env", strings.ReplaceAll(string(env), "100.64.1.", "100.64.9."))
		g.Expect(three.del()).To(Succeed())
		g.Expect(traces(t, c.a)).To(BeEmpty())
		c.a.write("/run/flannel/subnet.env", string(env))
	})
	t.Run("after the pod's network", func(t *testing.T) {
		g := NewWithT(t)
		four := newPod(c.a, "four")
		c.a.run("ip", "netns", "delete", "four")
		g.Expect(four.del()).To(Succeed())
		g.Eventually(func() []string { return traces(t, c.a) }, patience).Should(BeEmpty())
	})
	t.Run("without anything", func(t *testing.T) {
		g := NewWithT(t)
		g.Expect(os.Remove(c.a.file("/run/flannel/subnet.env"))).To(Succeed())
		g.Expect(newAttachment(c.a, "five").del()).To(Succeed())
	})
}

func TestPodsWaitForTheDaemon(t *testing.T) {
	g := NewWithT(t)
	c := newNodes(t, ipv4, oneSegment)
	c.a.configure(c.render(""))
	c.a.install(c.daemon)
	one := newAttachment(c.a, "one")
	g.Expect(one.add()).To(MatchError(ContainSubstring("11: flannel's daemon has not written /run/flannel/subnet.env on this node yet")))
	one.version = latest
	g.Expect(one.status()).To(MatchError(ContainSubstring("50: flannel's daemon has not written")))
	c.a.start(c.daemon)
	c.a.awaitReady(c.daemon)
	g.Expect(one.status()).To(Succeed())
	g.Expect(one.add()).To(Succeed())
}

func TestCHECKFindsAnInterfaceThatIsGone(t *testing.T) {
	g := NewWithT(t)
	c := newCluster(t, "", dualStack, oneSegment)
	one := newAttachment(c.a, "one")
	one.version = latest
	g.Expect(one.add()).To(Succeed())
	g.Expect(one.check()).To(Succeed())
	_, err := one.run("ip", "link", "delete", "eth0")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(one.check()).To(MatchError(ContainSubstring("plugin bridge: ")))

	two := newAttachment(c.a, "two")
	two.version = latest
	g.Expect(two.check()).To(MatchError(ContainSubstring("nothing of an ADD of container two is kept")))
}

func TestGCTakesAwayWhatIsLeftOfContainers(t *testing.T) {
	g := NewWithT(t)
	c := newCluster(t, "", dualStack, oneSegment)
	pods := map[string]*attachment{}
	for _, id := range []string{"stays", "gone"} {
		pods[id] = newAttachment(c.a, id)
		pods[id].version = latest
		g.Expect(pods[id].add()).To(Succeed())
	}
	c.a.run("ip", "netns", "delete", "gone")
	c.a.write("/var/lib/cni/flannel/other", `{"name": "another-network", "type": "bridge"}`)
	valid := []map[string]string{{"containerID": "stays", "ifname": "eth0"}}
	g.Expect(pods["stays"].each("GC", false, map[string]any{"cni.dev/valid-attachments": valid})).To(Succeed())
	g.Eventually(func() []string { return traces(t, c.a) }, patience).Should(HaveLen(5), "what stays has four, the other network one")
	g.Expect(traces(t, c.a)).To(ContainElements("/var/lib/cni/flannel/stays", "/var/lib/cni/flannel/other"))
	g.Expect(pods["stays"].check()).To(Succeed())
}

func TestPortsOfANodeLeadToPods(t *testing.T) {
	g := NewWithT(t)
	c := newCluster(t, "", ipv4, oneSegment)
	one := newAttachment(c.a, "one")
	one.ports = []map[string]any{{"hostPort": 9000, "containerPort": port, "protocol": "tcp"}}
	g.Expect(one.add()).To(Succeed())
	echo(t, one.network(), one.addresses()[0])
	own, _, _ := oneSegment.address(1, extensionsv1alpha1.IPv4)
	_, err := exchangeAt(c.b.network(), netip.AddrPortFrom(netip.MustParseAddr(own), 9000))
	g.Expect(err).NotTo(HaveOccurred())
}
