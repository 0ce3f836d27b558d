// SPDX-License-Identifier: Apache-2.0

package network

import (
	"bytes"
	"errors"
	"fmt"
	"os/exec"
	"reflect"
	"slices"
	"strings"

	"github.com/vishvananda/netlink"

	"github.com/trellis-network/trellis/sandbox/internal/options"
)

// Faults are what is wrong with the wire of one node. The zero value is a wire without
// faults. The faults are outside the node: it cannot see or repair them.
type Faults struct {
	// LinkDown takes the carrier off the node's interface.
	LinkDown bool `json:"linkDown,omitempty"`
	// LossPercent is how many of a hundred packets are lost, in each direction, from 0 to
	// 100.
	LossPercent int `json:"lossPercent,omitempty"`
	// Block is the direction in which no packet passes: "in" to the node, or "out" of it.
	Block string `json:"block,omitempty"`
	// MTU makes longer IP packets vanish without an error, in both directions. 0 is no limit.
	MTU int `json:"mtu,omitempty"`
	// CutOffFrom are names of nodes to which packets of this node do not get. It is one
	// direction only.
	CutOffFrom []string `json:"cutOffFrom,omitempty"`
}

// IsZero reports whether there are no faults.
func (f Faults) IsZero() bool { return reflect.ValueOf(f).IsZero() }

// minMTU is the least MTU of IPv4.
const minMTU = 68

// SetFaults makes these the faults of a node, in place of its present ones. It returns an
// options.Invalid if there are no such nodes or faults.
func (n *Network) SetFaults(node string, faults Faults) error {
	if err := n.check(node, faults); err != nil {
		return err
	}
	n.faults[node] = faults
	if err := loadRules(n.rules()); err != nil {
		return err
	}
	port, err := netlink.LinkByName(node)
	if errors.As(err, &netlink.LinkNotFoundError{}) {
		return nil // the node is down; Attach has the link's state
	}
	if err != nil {
		return err
	}
	if faults.LinkDown {
		return netlink.LinkSetDown(port)
	}
	return netlink.LinkSetUp(port)
}

// Faults returns the present faults of a node.
func (n *Network) Faults(node string) Faults { return n.faults[node] }

func (n *Network) check(node string, faults Faults) error {
	if n.index(node) < 0 {
		return options.Invalidf("there is no node %q", node)
	}
	for _, other := range faults.CutOffFrom {
		if n.index(other) < 0 || other == node {
			return options.Invalidf("--cut-off-from %s: there is no other node %q", other, other)
		}
	}
	return faults.Check()
}

// Check returns an options.Invalid that names the flags of `trellis-sandbox node fault` with values
// that are none.
func (f Faults) Check() error {
	var errs []error
	if f.LossPercent < 0 || f.LossPercent > 100 {
		errs = append(errs, options.Invalidf("--loss %d: it is a percentage, from 0 to 100", f.LossPercent))
	}
	if f.Block != "" && f.Block != "in" && f.Block != "out" {
		errs = append(errs, options.Invalidf("--block %s: it is in or out", f.Block))
	}
	if f.MTU != 0 && f.MTU < minMTU {
		errs = append(errs, options.Invalidf("--mtu %d: it is at least %d bytes, or 0 without a limit", f.MTU, minMTU))
	}
	return errors.Join(errs...)
}

func (n *Network) index(node string) int {
	for i := range n.nodes {
		if n.nodes[i].Name == node {
			return i
		}
	}
	return -1
}

// neighbours are the packets by which hosts find each other's hardware addresses. Only a link
// that is down stops them: otherwise a fault of one direction would soon be one of both.
const neighbours = `  ether type arp accept
  icmpv6 type { nd-router-solicit, nd-router-advert, nd-neighbor-solicit, nd-neighbor-advert } accept
`

// rules are the rules of nftables for all faults. They are hooked into the bridges, so they
// see every packet that enters or leaves a port. The mark, which a packet keeps when it is
// routed from one bridge to another, tells from which node it came.
func (n *Network) rules() string {
	var in, out strings.Builder
	for i, node := range n.nodes {
		faults := n.faults[node.Name]
		from, to := fmt.Sprintf("  iifname %q ", node.Name), fmt.Sprintf("  oifname %q ", node.Name)
		if faults.LossPercent > 0 {
			lose := fmt.Sprintf("numgen random mod 100 < %d drop\n", faults.LossPercent)
			in.WriteString(from + lose)
			out.WriteString(to + lose)
		}
		if faults.MTU > 0 {
			vanish := fmt.Sprintf("meta length > %d drop\n", faults.MTU)
			in.WriteString(from + vanish)
			out.WriteString(to + vanish)
		}
		switch faults.Block {
		case "out":
			in.WriteString(from + "drop\n")
		case "in":
			out.WriteString(to + "drop\n")
		}
		fmt.Fprintf(&in, "%smeta mark set %d\n", from, i+1)
		for _, other := range n.nodes {
			if slices.Contains(n.faults[other.Name].CutOffFrom, node.Name) {
				fmt.Fprintf(&out, "%smeta mark %d drop\n", to, n.index(other.Name)+1)
			}
		}
	}
	// The first line lets the second one succeed the first time.
	return "add table bridge faults\ndelete table bridge faults\ntable bridge faults {\n" +
		" chain entering { type filter hook prerouting priority -300\n" + neighbours + in.String() + " }\n" +
		" chain leaving { type filter hook postrouting priority -300\n" + neighbours + out.String() + " }\n}\n"
}

// loadRules replaces all rules in one transaction.
func loadRules(rules string) error {
	cmd := exec.Command("nft", "-f", "-")
	cmd.Stdin = strings.NewReader(rules)
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	err := cmd.Run()
	if errors.Is(err, exec.ErrNotFound) {
		return errors.New("faults need the program nft; install nftables")
	}
	if err != nil {
		return fmt.Errorf("nft: %w: %s", err, strings.TrimSpace(output.String()))
	}
	return nil
}
