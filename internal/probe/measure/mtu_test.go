// SPDX-License-Identifier: Apache-2.0

//go:build linux

package measure_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"golang.org/x/sys/unix"
	"k8s.io/utils/ptr"

	"github.com/trellis-network/trellis/api/connectivity/v1alpha1"
	"github.com/trellis-network/trellis/internal/probe/measure"
	"github.com/trellis-network/trellis/internal/probe/respond"
)

// Two pods with a router between them, each in a network namespace of its own, and the MTU of the
// path lowered in the two ways that there are.
func TestALoweredMTUIsFound(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("network namespaces need root")
	}
	for _, tool := range []string{"ip", "nft"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip("install iproute2 and nftables to test with network namespaces")
		}
	}
	w := newPath(t)
	target := target(v1alpha1.CheckPods, "node-b", "10.99.2.2:8099")
	m := measure.Measure{MTU: 1450, Dial: w.dialFromA}

	g := NewWithT(t)
	outcome := m.Attempt(t.Context(), target, true)
	g.Expect(outcome.Failure).To(BeEmpty())
	g.Expect(outcome.FullSizePackets).To(Equal(ptr.To(true)))

	// The router says so: TCP adapts, and only a packet of full size is lost.
	w.run("ip -n %[2]s route replace 10.99.2.0/24 dev rb mtu lock 1300")
	outcome = m.Attempt(t.Context(), target, true)
	g.Expect(outcome.Failure).To(BeEmpty())
	g.Expect(outcome.FullSizePackets).To(Equal(ptr.To(false)))
	w.run("ip -n %[2]s route replace 10.99.2.0/24 dev rb")
	w.run("ip -n %[1]s route flush cache")

	// The router does not say so.
	w.run("ip netns exec %[2]s nft add table inet path")
	w.run("ip netns exec %[2]s nft add chain inet path forward { type filter hook forward priority 0 ; }")
	w.run("ip netns exec %[2]s nft add rule inet path forward meta length > 1300 drop")
	g.Expect(m.Attempt(t.Context(), target, false).Failure).To(BeEmpty(), "a small exchange does not notice")
	outcome = m.Attempt(t.Context(), target, true)
	g.Expect(outcome.Failure).To(Equal("small packets pass, but full segments do not within 5s: check the MTU"))

	w.run("ip netns exec %[2]s nft delete table inet path")
	outcome = m.Attempt(t.Context(), target, true)
	g.Expect(outcome.Failure).To(BeEmpty(), "it is repaired")
	g.Expect(outcome.FullSizePackets).To(Equal(ptr.To(true)))
}

// path is three network namespaces: a pod, a router, and the pod of a probe.
type path struct {
	t          *testing.T
	namespaces []any // their names
}

func newPath(t *testing.T) *path {
	prefix := fmt.Sprintf("trellis-mtu-%d-", os.Getpid())
	w := &path{t: t, namespaces: []any{prefix + "a", prefix + "r", prefix + "b"}}
	t.Cleanup(func() {
		for _, name := range w.namespaces {
			_ = exec.Command("ip", "netns", "delete", name.(string)).Run()
		}
	})
	for _, name := range w.namespaces {
		out, err := exec.Command("ip", "netns", "add", name.(string)).CombinedOutput()
		if strings.Contains(string(out), "Operation not permitted") {
			t.Skip("root may not make network namespaces here")
		}
		NewWithT(t).Expect(err).NotTo(HaveOccurred(), string(out))
	}
	w.run("ip -n %[1]s link add eth0 mtu 1450 type veth peer name ra mtu 1450 netns %[2]s")
	w.run("ip -n %[3]s link add eth0 mtu 1450 type veth peer name rb mtu 1450 netns %[2]s")
	for _, command := range []string{
		"-n %[1]s address add 10.99.1.2/24 dev eth0", "-n %[3]s address add 10.99.2.2/24 dev eth0",
		"-n %[2]s address add 10.99.1.1/24 dev ra", "-n %[2]s address add 10.99.2.1/24 dev rb",
		"-n %[1]s link set eth0 up", "-n %[3]s link set eth0 up", "-n %[2]s link set ra up", "-n %[2]s link set rb up",
		"-n %[1]s route add default via 10.99.1.1", "-n %[3]s route add default via 10.99.2.1",
	} {
		w.run("ip " + command)
	}
	NewWithT(t).Expect(w.in(w.namespaces[1], func() error {
		return os.WriteFile("/proc/sys/net/ipv4/ip_forward", []byte("1"), 0)
	})).To(Succeed())
	w.serve()
	return w
}

// run runs a command, with the names of the namespaces in it.
func (w *path) run(command string) {
	w.t.Helper()
	arguments := strings.Fields(fmt.Sprintf(command+"%.0[1]s%.0[2]s%.0[3]s", w.namespaces...))
	out, err := exec.Command(arguments[0], arguments[1:]...).CombinedOutput()
	NewWithT(w.t).Expect(err).NotTo(HaveOccurred(), "%s: %s", strings.Join(arguments, " "), out)
}

// in calls do in a network namespace. A socket stays in the namespace in which it was made.
func (w *path) in(namespace any, do func() error) error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with the goroutine
		file, err := os.Open("/run/netns/" + namespace.(string))
		if err == nil {
			defer file.Close()
			err = unix.Setns(int(file.Fd()), unix.CLONE_NEWNET)
		}
		if err == nil {
			err = do()
		}
		done <- err
	}()
	return <-done
}

func (w *path) dialFromA(ctx context.Context, network, address string) (conn net.Conn, err error) {
	err = w.in(w.namespaces[0], func() (err error) {
		conn, err = (&net.Dialer{}).DialContext(ctx, network, address)
		return err
	})
	return conn, err
}

// serve runs the answering half of a probe in the third namespace.
func (w *path) serve() {
	g := NewWithT(w.t)
	var listener net.Listener
	var datagrams *net.UDPConn
	g.Expect(w.in(w.namespaces[2], func() (err error) {
		if listener, err = net.Listen("tcp", ":8099"); err == nil {
			datagrams, err = net.ListenUDP("udp", &net.UDPAddr{Port: 8099})
		}
		return err
	})).To(Succeed())
	raw, err := datagrams.SyscallConn()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(measure.ForbidFragments(raw)).To(Succeed())
	ctx, cancel := context.WithCancel(w.t.Context())
	ended := make(chan error, 2)
	go func() { ended <- respond.HTTP(ctx, listener, respond.Identity{Node: "node-b"}) }()
	go func() { ended <- respond.Datagrams(ctx, datagrams) }()
	w.t.Cleanup(func() {
		cancel()
		g.Expect(<-ended).To(Succeed())
		g.Expect(<-ended).To(Succeed())
	})
}
