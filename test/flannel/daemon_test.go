// SPDX-License-Identifier: Apache-2.0

package flannel

import (
	"bufio"
	"net/http"
	"net/netip"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
)

func TestPacketsGoOnWithoutTheDaemon(t *testing.T) {
	for config, remote := range map[string]string{"": "flannel.1", "{backend: {type: host-gw}}": "eth0"} {
		t.Run(remote, func(t *testing.T) {
			g := NewWithT(t)
			c := newCluster(t, config, ipv4, oneSegment)
			one, two := newPod(c.a, "one"), newPod(c.b, "two")
			echo(t, two.network(), two.addresses()[0])
			datagrams := startLoop(t, one.network(), two.addresses()[0])
			datagrams.awaitSent(50)
			for _, n := range c.nodes() {
				g.Expect(n.signal("KILL")).To(Equal(-1), "killed")
			}
			datagrams.awaitSent(400)
			sent, lost := datagrams.end()
			t.Logf("of %d datagrams, one each 5 ms, %d were lost", sent, lost)
			g.Expect(lost).To(BeZero())

			// A start makes again what is missing.
			c.a.run("ip", "route", "delete", podRange(2, extensionsv1alpha1.IPv4))
			_, err := exchange(one.network(), two.addresses()[0])
			g.Expect(err).To(HaveOccurred())
			for _, n := range c.nodes() {
				n.start(c.daemon)
			}
			for _, n := range c.nodes() {
				n.awaitReady(c.daemon)
			}
			g.Eventually(func() error {
				_, err := exchange(one.network(), two.addresses()[0])
				return err
			}, patience).Should(Succeed())
		})
	}
}

func TestHostGWPutsRoutesBack(t *testing.T) {
	g := NewWithT(t)
	c := newCluster(t, "{backend: {type: host-gw}}", dualStack, oneSegment)
	for _, family := range dualStack {
		c.a.run("ip", "route", "delete", podRange(2, family))
		g.Expect(c.a.routes(podRange(2, family))).To(BeEmpty())
	}
	for _, family := range dualStack {
		g.Eventually(func() string { return c.a.routes(podRange(2, family)) }, patience).Should(ContainSubstring(" dev eth0"))
	}
}

func TestTheDaemonEndsWhenItsInterfaceIsDeleted(t *testing.T) {
	g := NewWithT(t)
	c := newCluster(t, vxlan, dualStack, oneSegment)
	one, two := newPod(c.a, "one"), newPod(c.b, "two")
	for _, address := range two.addresses() {
		echo(t, two.network(), address)
	}
	c.a.ip("link delete flannel-v6.1")
	g.Expect(c.a.exitStatus()).To(Equal(1))
	g.Expect(c.a.daemon.log()).To(ContainSubstring("the interface flannel-v6.1 was deleted"))
	c.a.start(c.daemon)
	c.a.awaitReady(c.daemon)
	for _, address := range two.addresses() {
		g.Eventually(func() error {
			_, err := exchange(one.network(), address)
			return err
		}, patience).Should(Succeed())
	}
}

func TestRoutesFollowTheNodes(t *testing.T) {
	g := NewWithT(t)
	c := newCluster(t, "", ipv4, oneSegment)
	route := func() string { return c.a.routes(podRange(2, extensionsv1alpha1.IPv4)) }
	g.Eventually(route, patience).Should(ContainSubstring(" dev flannel.1"))
	b := &corev1.Node{}
	g.Eventually(func() []corev1.NodeCondition { // a daemon is ready before it states this
		g.Expect(c.server.Get(t.Context(), client.ObjectKey{Name: "b"}, b)).To(Succeed())
		return b.Status.Conditions
	}, patience).Should(ContainElement(SatisfyAll(
		HaveField("Type", corev1.NodeNetworkUnavailable), HaveField("Status", corev1.ConditionFalse))))
	g.Expect(c.server.Delete(t.Context(), b)).To(Succeed())
	g.Eventually(route, patience).Should(BeEmpty())
	b.ResourceVersion, b.UID = "", ""
	g.Expect(c.server.Create(t.Context(), b)).To(Succeed())
	g.Eventually(route, patience).Should(ContainSubstring(" dev flannel.1"))
}

func TestTheDaemonServesItsHealth(t *testing.T) {
	g := NewWithT(t)
	c := newCluster(t, "", ipv4, oneSegment)
	g.Expect(c.a.signal("TERM")).To(Equal(0))
	c.a.start(c.daemon, "--healthz-port=8471", "--healthz-ip=127.0.0.1", "--iface=eth0")
	c.a.awaitReady(c.daemon)
	connection, err := dial(c.a.network(), netip.MustParseAddrPort("127.0.0.1:8471"))
	g.Expect(err).NotTo(HaveOccurred())
	defer connection.Close()
	_, err = connection.Write([]byte("GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"))
	g.Expect(err).NotTo(HaveOccurred())
	response, err := http.ReadResponse(bufio.NewReader(connection), nil)
	g.Expect(err).NotTo(HaveOccurred())
	defer response.Body.Close()
	g.Expect(response.StatusCode).To(Equal(http.StatusOK))
}

func TestTheDaemonSaysWhyItCannotStart(t *testing.T) {
	c := newNodes(t, ipv4, oneSegment)
	settings := c.render("")
	for _, test := range []struct {
		name, netConf string
		args          []string
		status        int
		message       string
	}{
		{"an unknown flag", "", []string{"--etcd-endpoints=http://127.0.0.1:2379"}, 2, "flag provided but not defined: -etcd-endpoints"},
		{"an interface that is not there", "", []string{"--iface=eth7"}, 1, "--iface=eth7: "},
		{"a backend that is not built in", `{"Network": "100.64.0.0/12", "Backend": {"Type": "wireguard"}}`, nil, 1, "built in are vxlan and host-gw"},
		{"a network without the node's range", `{"Network": "192.168.0.0/16", "Backend": {"Type": "vxlan"}}`, nil, 1, `doesn't contain "100.64.1.0/24"`},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			c.a.configure(settings)
			if test.netConf != "" {
				c.a.write("/etc/kube-flannel/net-conf.json", test.netConf)
			}
			c.a.start(c.daemon, test.args...)
			g.Expect(c.a.exitStatus()).To(Equal(test.status))
			g.Expect(c.a.daemon.log()).To(ContainSubstring(test.message))
		})
	}
}
