// SPDX-License-Identifier: Apache-2.0

package flannel

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
)

const (
	vxlan  = "{mtu: 1480}"
	hostGW = "{backend: {type: host-gw}, mtu: 1480}"
)

// dropped is how many datagrams of a loop with five milliseconds a restart may cost. On an idle
// machine it is 0 to 2.
const dropped = 20

func TestAChangeOfTheBackendHardlyDropsPackets(t *testing.T) {
	g := NewWithT(t)
	c := newCluster(t, vxlan, dualStack, oneSegment)
	one, two := newPod(c.a, "one"), newPod(c.b, "two")
	for _, address := range two.addresses() {
		echo(t, two.network(), address)
		serve(t, two.network(), address)
	}
	for _, change := range []struct{ name, config, device string }{
		{"vxlan to host-gw", hostGW, "eth0"},
		{"host-gw to vxlan", vxlan, "flannel.1"},
	} {
		var loops []*loop
		var pages []*requests
		for _, address := range two.addresses() {
			loops = append(loops, startLoop(t, one.network(), address))
			pages = append(pages, startRequests(one.network(), address))
		}
		loops[0].awaitSent(100)
		c.change(change.config)
		g.Eventually(func() string { return c.a.routes(podRange(2, extensionsv1alpha1.IPv4)) }, patience).Should(ContainSubstring(" dev " + change.device))
		loops[0].awaitSent(400)
		for i, family := range dualStack {
			sent, lost := loops[i].end()
			t.Logf("%s, %s: of %d datagrams, one each 5 ms, %d were lost", change.name, family, sent, lost)
			g.Expect(lost).To(BeNumerically("<=", dropped), "%s, %s", change.name, family)
			requested, slowest, errs := pages[i].end()
			t.Logf("%s, %s: of %d HTTP requests, %d failed; the slowest took %d ms", change.name, family, requested, len(errs), slowest.Milliseconds())
			g.Expect(requested).To(BeNumerically(">", 20), "%s, %s", change.name, family)
			g.Expect(errs).To(BeEmpty(), "%s, %s", change.name, family)
		}
	}
}

func TestWhatIsLostIsCounted(t *testing.T) {
	g := NewWithT(t)
	c := newCluster(t, "", ipv4, oneSegment)
	one, two := newPod(c.a, "one"), newPod(c.b, "two")
	echo(t, two.network(), two.addresses()[0])
	datagrams := startLoop(t, one.network(), two.addresses()[0])
	pages := startRequests(one.network(), two.addresses()[0]) // nothing serves them
	datagrams.awaitSent(50)
	c.outside.ip("link set to-b down")
	datagrams.awaitSent(100)
	c.outside.ip("link set to-b up")
	datagrams.awaitSent(50)
	sent, lost := datagrams.end()
	t.Logf("of %d datagrams, %d were lost", sent, lost)
	g.Expect(lost).To(BeNumerically(">=", 90))
	g.Expect(lost).To(BeNumerically("<", sent), "those before and after arrived")
	requested, _, errs := pages.end()
	g.Expect(errs).To(HaveLen(requested))
	g.Expect(errs).To(ContainElement(MatchError(ContainSubstring("connection refused"))))
}

func TestHostGWNeedsOneSegment(t *testing.T) {
	g := NewWithT(t)
	c := newCluster(t, "{backend: {type: host-gw}}", ipv4, twoSubnets)
	one, two := newPod(c.a, "one"), newPod(c.b, "two")
	echo(t, two.network(), two.addresses()[0])
	_, err := exchange(one.network(), two.addresses()[0])
	g.Expect(err).To(HaveOccurred())
	g.Expect(c.a.routes(podRange(2, extensionsv1alpha1.IPv4))).To(BeEmpty())
	g.Expect(strings.Count(c.a.daemon.log(), "Error adding route")).To(BeNumerically(">", 0), "the daemon says why")
}
