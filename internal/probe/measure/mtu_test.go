// SPDX-License-Identifier: Apache-2.0

//go:build linux

package measure_test

import (
	"context"
	"errors"
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
	m := measure.Measure{MTU: 1450, Dial: w.dialFromPod}

	g := NewWithT(t)
	outcome := m.Attempt(t.Context(), target, true)
	g.Expect(outcome.Failure).To(BeEmpty())
	g.Expect(outcome.FullSizePackets).To(Equal(ptr.To(true)))

	// The router says so: TCP adapts, and only a packet of full size is lost.
	w.router.run("ip route replace 10.99.2.0/24 dev rb mtu lock 1300")
	outcome = m.Attempt(t.Context(), target, true)
	g.Expect(outcome.Failure).To(BeEmpty())
	g.Expect(outcome.FullSizePackets).To(Equal(ptr.To(false)))
	w.router.run("ip route replace 10.99.2.0/24 dev rb")
	w.pod.run("ip route flush cache")

	// The router does not say so.
	w.router.run("nft add table inet path")
	w.router.run("nft add chain inet path forward { type filter hook forward priority 0 ; }")
	w.router.run("nft add rule inet path forward meta length > 1300 drop")
	g.Expect(m.Attempt(t.Context(), target, false).Failure).To(BeEmpty(), "a small exchange does not notice")
	outcome = m.Attempt(t.Context(), target, true)
	g.Expect(outcome.Failure).To(Equal("small packets pass, but full segments do not within 5s: check the MTU"))

	w.router.run("nft delete table inet path")
	outcome = m.Attempt(t.Context(), target, true)
	g.Expect(outcome.Failure).To(BeEmpty(), "it is repaired")
	g.Expect(outcome.FullSizePackets).To(Equal(ptr.To(true)))
}

// path is the network namespaces of a pod, a router, and the pod of a probe.
type path struct {
	t                *testing.T
	pod, router, far *namespace
}

func newPath(t *testing.T) *path {
	w := &path{t: t, pod: newNamespace(t), router: newNamespace(t), far: newNamespace(t)}
	w.pod.run("ip link add eth0 mtu 1450 type veth peer name ra mtu 1450 netns " + w.router.file)
	w.far.run("ip link add eth0 mtu 1450 type veth peer name rb mtu 1450 netns " + w.router.file)
	for _, each := range []struct {
		in       *namespace
		commands []string
	}{
		{w.pod, []string{"address add 10.99.1.2/24 dev eth0", "link set eth0 up", "route add default via 10.99.1.1"}},
		{w.far, []string{"address add 10.99.2.2/24 dev eth0", "link set eth0 up", "route add default via 10.99.2.1"}},
		{w.router, []string{"address add 10.99.1.1/24 dev ra", "address add 10.99.2.1/24 dev rb", "link set ra up", "link set rb up"}},
	} {
		for _, command := range each.commands {
			each.in.run("ip " + command)
		}
	}
	NewWithT(t).Expect(w.router.within(func() error {
		return os.WriteFile("/proc/sys/net/ipv4/ip_forward", []byte("1"), 0)
	})).To(Succeed())
	w.serve()
	return w
}

// namespace is a network namespace without a name on the machine. The kernel removes it when the
// test closes its file, or when the process of the test ends.
type namespace struct {
	t *testing.T
	// file is a path by which other processes reach it.
	file string
}

func newNamespace(t *testing.T) *namespace {
	t.Helper()
	var file *os.File
	err := onThread(func() (err error) {
		if err = unix.Unshare(unix.CLONE_NEWNET); err == nil {
			file, err = os.Open("/proc/thread-self/ns/net")
		}
		return err
	})
	if errors.Is(err, unix.EPERM) {
		t.Skip("root may not make network namespaces here")
	}
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { _ = file.Close() })
	return &namespace{t: t, file: fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), file.Fd())}
}

// within calls do in the namespace. Sockets and processes stay in the namespace in which they were
// made.
func (n *namespace) within(do func() error) error {
	return onThread(func() error {
		file, err := os.Open(n.file)
		if err != nil {
			return err
		}
		defer file.Close()
		if err := unix.Setns(int(file.Fd()), unix.CLONE_NEWNET); err != nil {
			return err
		}
		return do()
	})
}

// onThread calls do on a thread of its own, which ends then.
func onThread(do func() error) error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with the goroutine
		done <- do()
	}()
	return <-done
}

// run runs a command in the namespace.
func (n *namespace) run(command string) {
	n.t.Helper()
	arguments := strings.Fields(command)
	var out []byte
	err := n.within(func() (err error) {
		out, err = exec.Command(arguments[0], arguments[1:]...).CombinedOutput()
		return err
	})
	NewWithT(n.t).Expect(err).NotTo(HaveOccurred(), "%s: %s", command, out)
}

func (w *path) dialFromPod(ctx context.Context, network, address string) (conn net.Conn, err error) {
	err = w.pod.within(func() (err error) {
		conn, err = (&net.Dialer{}).DialContext(ctx, network, address)
		return err
	})
	return conn, err
}

// serve runs the answering half of a probe behind the router.
func (w *path) serve() {
	g := NewWithT(w.t)
	var listener net.Listener
	var datagrams *net.UDPConn
	g.Expect(w.far.within(func() (err error) {
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
