// SPDX-License-Identifier: Apache-2.0

package sandbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"

	"github.com/trellis-network/trellis/test/sandbox/internal/cache"
)

// RealNodes are options of Start for shoots with real nodes, on which containers run. They
// need root.
type RealNodes struct {
	// Nodes is the number of nodes of each shoot, and Subnets that of their network segments,
	// which a router connects. 0 is 1.
	Nodes, Subnets int
	// Programs is the directory with what nodes run, as NodePrograms returns it.
	Programs string
	// Families are the IP families of the shoots, such as IPv4,IPv6. Empty is IPv4.
	Families string
	// Images are archives of images that all nodes have, beside those in Programs.
	Images []string
	// Registries are registries that nodes reach though they are not public, as
	// HOST[:PORT][=ADDRESS:PORT].
	Registries []string
}

func (r *RealNodes) args() []string {
	args := []string{fmt.Sprintf("--nodes=real:%d", max(1, r.Nodes)), "--node-programs", r.Programs}
	if r.Subnets != 0 {
		args = append(args, fmt.Sprintf("--subnets=%d", r.Subnets))
	}
	if r.Families != "" {
		args = append(args, "--ip-families", r.Families)
	}
	for _, image := range r.Images {
		args = append(args, "--image", image)
	}
	for _, registry := range r.Registries {
		args = append(args, "--registry", registry)
	}
	return args
}

// WithoutRealNodes returns in one line why a plan cannot run on this machine, and what to do
// about it, or "" if it can. The sandbox asks for tools, rights, memory, space on disk and instances
// of inotify, makes a node without programs, and removes it. WithoutRealNodes returns an error if the
// sandbox is not built, or if it cannot find out.
func WithoutRealNodes(ctx context.Context, plan Plan) (reason string, err error) {
	binary, err := Binary()
	if err != nil {
		return "", err
	}
	if os.Geteuid() == 0 { // others are told first that they need root
		if _, err := cache.FindNodePrograms(); err != nil {
			return err.Error(), nil
		}
	}
	output, err := exec.CommandContext(ctx, binary, append([]string{"check"}, plan.args()...)...).CombinedOutput()
	const cannot = 2 // so is that of a panic, which does not begin with the program's name
	line, isAnswer := strings.CutPrefix(strings.TrimSpace(string(output)), "trellis-sandbox: ")
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && exit.ExitCode() == cannot && isAnswer {
		return line, nil
	}
	if err != nil {
		return "", fmt.Errorf("find out whether real nodes can run here: %w: %s", err, output)
	}
	return "", nil
}

// RealNode is a node on which containers run.
type RealNode struct {
	Name string `json:"name"`
	// Addresses has one address of each IP family.
	Addresses []string `json:"addresses"`
}

// Faults are what is wrong with the wire of one real node. The zero value is a wire without
// faults.
type Faults struct {
	// LinkDown takes the carrier off the node's interface.
	LinkDown bool
	// LossPercent is how many of a hundred packets are lost, in each direction.
	LossPercent int
	// Block is the direction in which no packet passes: "in" to the node, or "out" of it.
	Block string
	// MTU makes longer IP packets vanish, in both directions. 0 is no limit.
	MTU int
	// CutOffFrom are nodes to which packets of this node do not get. It is one direction only.
	CutOffFrom []string
}

func (f Faults) args() []string {
	args := []string{}
	if f.LinkDown {
		args = append(args, "--link-down")
	}
	if f.LossPercent != 0 {
		args = append(args, "--loss", strconv.Itoa(f.LossPercent))
	}
	if f.Block != "" {
		args = append(args, "--block", f.Block)
	}
	if f.MTU != 0 {
		args = append(args, "--mtu", strconv.Itoa(f.MTU))
	}
	if len(f.CutOffFrom) > 0 {
		args = append(args, "--cut-off-from", strings.Join(f.CutOffFrom, ","))
	}
	return args
}

// Node is a real node of a running sandbox.
type Node struct {
	sandbox *Sandbox
	shoot   Shoot
	name    string
}

// Node returns a real node of one of the sandbox's shoots, by its name. The name router is the
// router of the nodes, which has Exec only.
func (s *Sandbox) Node(shoot Shoot, name string) Node {
	return Node{sandbox: s, shoot: shoot, name: name}
}

// Fault makes these the node's faults, in place of its former ones. There must be one at least.
func (n Node) Fault(ctx context.Context, faults Faults) error {
	_, err := n.run(ctx, "fault", append([]string{n.name}, faults.args()...)...)
	return err
}

// Heal removes the node's faults.
func (n Node) Heal(ctx context.Context) error {
	_, err := n.run(ctx, "heal", n.name)
	return err
}

// Partition cuts the node off from all others, in both directions. It still reaches the API
// server. To end it, heal all nodes.
func (n Node) Partition(ctx context.Context) error {
	_, err := n.run(ctx, "partition", n.name)
	return err
}

// Kill ends the node at once, as if its power was cut.
func (n Node) Kill(ctx context.Context) error {
	_, err := n.run(ctx, "kill", n.name)
	return err
}

// Start starts the node after Kill, with the files that it had.
func (n Node) Start(ctx context.Context) error {
	_, err := n.run(ctx, "start", n.name)
	return err
}

// Exec runs a command on the node and returns its standard output. The error has what the
// command wrote to standard error.
func (n Node) Exec(ctx context.Context, command ...string) ([]byte, error) {
	return n.run(ctx, "exec", append([]string{n.name, "--"}, command...)...)
}

func (n Node) run(ctx context.Context, command string, args ...string) ([]byte, error) {
	binary, err := Binary()
	if err != nil {
		return nil, err
	}
	of := []string{"node", command, "--dir", n.sandbox.Dir, "--shoot", n.shoot.Namespace + "/" + n.shoot.Name}
	cmd := exec.CommandContext(ctx, binary, append(of, args...)...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	output, err := cmd.Output()
	if err != nil {
		return output, fmt.Errorf("node %s %s: %w: %s", command, n.name, err, strings.TrimSpace(stderr.String()))
	}
	return output, nil
}
