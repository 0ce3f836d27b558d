// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"path/filepath"

	"github.com/trellis-network/trellis/sandbox/internal/process"
	"github.com/trellis-network/trellis/sandbox/internal/realnodes/network"
	"github.com/trellis-network/trellis/sandbox/internal/realnodes/plan"
)

// Trial is the name of the component that tries whether a node can be made, and TrialNode that of
// the node's first process.
const (
	Trial     = "trial"
	TrialNode = "trial-node"
)

// Try makes the first node of a plan, with its namespaces, cgroups, file system, wire and a
// fault, but without programs. Its error is what this machine does not allow. Its process must be
// in a network namespace of its own. Args are the file of the plan.
func Try(args []string) error {
	p, err := plan.Read(args[0])
	if err != nil {
		return err
	}
	wires, err := network.New(p.Subnets, p.Nodes)
	if err != nil {
		return err
	}
	group, err := process.NewGroup(func(error) {})
	if err != nil {
		return err
	}
	defer group.Stop(grace)
	node := p.Nodes[0].Name
	pid, wait, err := group.LaunchToEnd(process.Spec{
		Component:  TrialNode,
		Stage:      process.Client,
		Args:       []string{args[0], node},
		Namespaces: nodeNamespaces,
		Dir:        "/",
		Log:        filepath.Join(p.Logs, TrialNode+".log"),
	})
	if err != nil {
		return err
	}
	if err := wires.Attach(0, pid); err != nil {
		return err
	}
	if err := wires.SetFaults(node, network.Faults{LossPercent: 1}); err != nil {
		return err
	}
	return process.Reason(wait())
}
