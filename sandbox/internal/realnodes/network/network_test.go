// SPDX-License-Identifier: Apache-2.0

package network

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"

	"github.com/trellis-network/trellis/sandbox/internal/realnodes/plan"
)

// wired is a network whose nodes are processes that do nothing, each in a network namespace
// of its own.
type wired struct {
	*Network
	t    *testing.T
	pids []int
}

// wire makes a network in a namespace of this test's own. The test's thread stays in that
// namespace, and ends with the test.
func wire(t *testing.T, layout plan.Layout) *wired {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("network namespaces need root")
	}
	if _, err := exec.LookPath("nft"); err != nil {
		t.Skip("faults need the program nft (Debian's package nftables)")
	}
	runtime.LockOSThread()
	if err := unix.Unshare(unix.CLONE_NEWNET); errors.Is(err, unix.EPERM) {
		t.Skip("root may not make network namespaces here")
	} else if err != nil {
		t.Fatal(err)
	}
	subnets, nodes := layout.Lay()
	made, err := New(subnets, nodes)
	if err != nil {
		t.Fatal(err)
	}
	w := &wired{Network: made, t: t}
	for i := range nodes {
		w.pids = append(w.pids, idle(t))
		if err := made.Attach(i, w.pids[i]); err != nil {
			t.Fatal(err)
		}
	}
	return w
}

// idle starts a process in a network namespace of its own.
func idle(t *testing.T) int {
	t.Helper()
	cmd := exec.Command("sleep", "600")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWNET}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return cmd.Process.Pid
}

// within calls do in the network namespace of a node.
func (w *wired) within(node int, do func() error) {
	w.t.Helper()
	own, err := netns.Get()
	if err != nil {
		w.t.Fatal(err)
	}
	defer own.Close()
	other, err := netns.GetFromPid(w.pids[node])
	if err != nil {
		w.t.Fatal(err)
	}
	defer other.Close()
	if err := netns.Set(other); err != nil {
		w.t.Fatal(err)
	}
	err = do()
	if back := netns.Set(own); back != nil {
		w.t.Fatal(back)
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

// received sends datagrams of IP packets of this size from one node to another, as many as fit
// into the receiver's buffer, and returns how many arrive. It waits for a missing one for a
// quarter of a second.
func (w *wired) received(from, to, family, size, count int) int {
	w.t.Helper()
	address := w.nodes[to].Addresses[family].Addr()
	var listener net.PacketConn
	w.within(to, func() (err error) {
		listener, err = net.ListenPacket("udp", net.JoinHostPort(address.String(), "0"))
		return err
	})
	defer listener.Close()
	w.within(from, func() error {
		sender, err := net.Dial("udp", listener.LocalAddr().String())
		if err != nil {
			return err
		}
		defer sender.Close()
		for range count {
			if _, err := sender.Write(make([]byte, size-headers(address))); err != nil {
				return err
			}
		}
		return nil
	})
	for n := range count {
		_ = listener.SetReadDeadline(time.Now().Add(250 * time.Millisecond))
		if _, _, err := listener.ReadFrom(make([]byte, 1)); err != nil {
			return n
		}
	}
	return count
}

// headers is the size of the headers of IP and UDP.
func headers(address netip.Addr) int {
	if address.Is4() {
		return 20 + 8
	}
	return 40 + 8
}

// expect fails the test if a packet of a family arrives and should not. It sends another one
// while a packet should arrive and does not, for five seconds: the kernel takes up to a second
// to use an interface that has a carrier again.
func (w *wired) expect(what string, from, to int, arrives bool) {
	w.t.Helper()
	for family := range w.nodes[from].Addresses {
		got := w.received(from, to, family, 100, 1) == 1
		for deadline := time.Now().Add(5 * time.Second); arrives && !got && time.Now().Before(deadline); {
			got = w.received(from, to, family, 100, 1) == 1
		}
		if got != arrives {
			w.t.Errorf("%s: a packet from %s to %s arrives: %v, want %v (family %d)", what, w.nodes[from].Name, w.nodes[to].Name, got, arrives, family)
		}
	}
}

func (w *wired) set(node int, faults Faults) {
	w.t.Helper()
	if err := w.SetFaults(w.nodes[node].Name, faults); err != nil {
		w.t.Fatal(err)
	}
}

var dualStack = plan.Layout{Nodes: 2, Subnets: 1, IPv4: true, IPv6: true}

func TestNodesReachEachOther(t *testing.T) {
	for _, layout := range []plan.Layout{
		{Nodes: 2, Subnets: 1, IPv4: true},
		{Nodes: 2, Subnets: 1, IPv6: true},
		{Nodes: 3, Subnets: 2, IPv4: true, IPv6: true, IPv6First: true},
	} {
		t.Run(fmt.Sprintf("%+v", layout), func(t *testing.T) {
			w := wire(t, layout)
			for from := range w.nodes {
				w.expect("without faults", from, (from+1)%len(w.nodes), true)
			}
		})
	}
}

func TestOnlyTheRouterConnectsTwoSubnets(t *testing.T) {
	w := wire(t, plan.Layout{Nodes: 2, Subnets: 2, IPv4: true})
	if err := os.WriteFile("/proc/sys/net/ipv4/ip_forward", []byte("0"), 0); err != nil {
		t.Fatal(err)
	}
	w.expect("while the router does not forward", 0, 1, false)
}

func TestALinkThatIsDownHasNoCarrier(t *testing.T) {
	w := wire(t, dualStack)
	carrier := func() (has bool) {
		w.within(0, func() error {
			link, err := netlink.LinkByName(NodeInterface)
			if err == nil {
				has = link.Attrs().RawFlags&unix.IFF_LOWER_UP != 0
			}
			return err
		})
		return has
	}
	w.set(0, Faults{LinkDown: true})
	if carrier() {
		t.Error("the node's interface has a carrier")
	}
	w.expect("the link is down", 1, 0, false)
	w.set(0, Faults{})
	if !carrier() {
		t.Error("the node's interface has no carrier")
	}
	w.expect("the link is up again", 1, 0, true)
}

func TestLoss(t *testing.T) {
	w := wire(t, dualStack)
	w.set(0, Faults{LossPercent: 30})
	// So many packets at once fit into the receiver's buffer. The standard deviation of what
	// arrives of all is 14.
	const batches, batch = 10, 100
	for _, way := range [][2]int{{0, 1}, {1, 0}} {
		got := 0
		for range batches {
			got += w.received(way[0], way[1], 0, 100, batch)
		}
		if got < 600 || got > 800 {
			t.Errorf("from node %d: %d of %d packets arrive, want about 700", way[0], got, batches*batch)
		}
	}
}

func TestOneDirectionIsBlocked(t *testing.T) {
	w := wire(t, dualStack)
	w.set(0, Faults{Block: "in"})
	w.expect("in is blocked", 0, 1, true)
	w.expect("in is blocked", 1, 0, false)
	w.set(0, Faults{Block: "out"})
	w.expect("out is blocked", 0, 1, false)
	w.expect("out is blocked", 1, 0, true)
}

func TestPacketsLongerThanTheMTUVanish(t *testing.T) {
	w := wire(t, dualStack)
	w.set(0, Faults{MTU: 1400})
	for family := range w.nodes[0].Addresses {
		for size, want := range map[int]int{1400: 1, 1401: 0} {
			for _, way := range [][2]int{{0, 1}, {1, 0}} {
				if got := w.received(way[0], way[1], family, size, 1); got != want {
					t.Errorf("%d packets of %d bytes arrive from node %d, want %d", got, size, way[0], want)
				}
			}
		}
	}
}

func TestNodesAreCutOffFromEachOther(t *testing.T) {
	for _, subnets := range []int{1, 2} {
		t.Run(fmt.Sprintf("%d subnets", subnets), func(t *testing.T) {
			w := wire(t, plan.Layout{Nodes: 3, Subnets: subnets, IPv4: true, IPv6: true})
			w.set(0, Faults{CutOffFrom: []string{"node-2"}})
			w.expect("cut off", 0, 1, false)
			w.expect("the other direction", 1, 0, true)
			w.expect("another node", 0, 2, true)
		})
	}
}

func TestARestartedNodeKeepsItsFaultsAndItsAddress(t *testing.T) {
	w := wire(t, dualStack)
	w.expect("before", 1, 0, true)
	w.set(0, Faults{Block: "out"})
	w.pids[0] = idle(t)
	if err := w.Attach(0, w.pids[0]); err != nil {
		t.Fatal(err)
	}
	// Node 1 still remembers the hardware address of node 0.
	w.expect("restarted", 1, 0, true)
	w.expect("restarted", 0, 1, false)
}

func TestFaultsThatAreNotPossibleAreRejected(t *testing.T) {
	_, nodes := dualStack.Lay()
	network := &Network{nodes: nodes, faults: map[string]Faults{}}
	for name, faults := range map[string]Faults{
		"more than all": {LossPercent: 101}, "less than none": {LossPercent: -1}, "no direction": {Block: "up"},
		"no IP": {MTU: 67}, "itself": {CutOffFrom: []string{"node-1"}}, "nobody": {CutOffFrom: []string{"node-9"}},
	} {
		if err := network.SetFaults("node-1", faults); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if err := network.SetFaults("node-9", Faults{}); err == nil {
		t.Error("a node that is not there: no error")
	}
}
