// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/trellis-network/trellis/sandbox/internal/bootstrap"
	"github.com/trellis-network/trellis/sandbox/internal/options"
	"github.com/trellis-network/trellis/sandbox/internal/realnodes/control"
	"github.com/trellis-network/trellis/sandbox/internal/realnodes/enter"
	"github.com/trellis-network/trellis/sandbox/internal/realnodes/network"
	"github.com/trellis-network/trellis/sandbox/internal/workdir"
)

// routerName stands for the router in `node exec`.
const routerName = "router"

// ofShoot are the flags that say of which shoot a node is.
type ofShoot struct{ dir, shoot string }

func (o *ofShoot) addTo(cmd *cobra.Command) {
	cmd.PersistentFlags().StringVar(&o.dir, "dir", "", "`directory` of the sandbox, as `up` printed it")
	cmd.PersistentFlags().StringVar(&o.shoot, "shoot", "", "the shoot, as `NAMESPACE/NAME`; not needed if there is only one")
}

func (o *ofShoot) client() (*control.Client, error) {
	if o.dir == "" {
		return nil, options.Invalidf("--dir is missing; name the directory of the sandbox: the field dir of the line that `up` printed")
	}
	socket, err := workdir.ControlSocket(o.dir, o.shoot)
	if err != nil {
		return nil, err
	}
	return control.NewClient(socket), nil
}

// run returns what a command does that needs the manager of the nodes.
func (o *ofShoot) run(do func(cmd *cobra.Command, client *control.Client, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		client, err := o.client()
		if err != nil {
			return err
		}
		return do(cmd, client, args)
	}
}

func newNode() *cobra.Command {
	var of ofShoot
	cmd := &cobra.Command{
		Use:   "node",
		Short: "List, enter, kill and disturb real nodes",
		Example: `  trellis-sandbox node list --dir /tmp/landscape
  trellis-sandbox node exec --dir /tmp/landscape node-1 -- ip route
  trellis-sandbox node fault --dir /tmp/landscape node-2 --loss 30
  trellis-sandbox node heal --dir /tmp/landscape
  trellis-sandbox node kill --dir /tmp/landscape node-2`,
		Args: cobra.ArbitraryArgs,
		RunE: help,
	}
	of.addTo(cmd)
	cmd.AddCommand(newNodeList(&of), newNodeExec(&of), newNodeKill(&of), newNodeStart(&of),
		newNodeFault(&of), newNodePartition(&of), newNodeHeal(&of))
	return cmd
}

// patience is how long `node list` waits for the API server, which tells it more than the
// manager of the nodes knows.
const patience = 10 * time.Second

func newNodeList(of *ofShoot) *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "Print the nodes with their addresses, processes and faults, and the images for which pods wait, as JSON",
		Args:  noArguments,
		RunE: of.run(func(cmd *cobra.Command, client *control.Client, _ []string) error {
			nodes, err := client.Nodes(cmd.Context())
			if err != nil {
				return err
			}
			missing, unknown := missingImages(cmd.Context(), nodes.Kubeconfig)
			encoder := json.NewEncoder(cmd.OutOrStdout())
			encoder.SetIndent("", "  ")
			err = encoder.Encode(struct {
				control.Nodes
				// MissingImages are absent if the API server does not tell.
				MissingImages []bootstrap.MissingImage `json:"missingImages,omitzero"`
			}{nodes, missing})
			return errors.Join(err, unknown)
		}),
	}
}

func missingImages(ctx context.Context, kubeconfig string) ([]bootstrap.MissingImage, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	client, err := bootstrap.Connect(kubeconfig)
	if err != nil {
		return nil, err
	}
	missing, err := bootstrap.MissingImages(ctx, client)
	if err != nil {
		return nil, fmt.Errorf("find out which images are missing: %w", err)
	}
	return missing, nil
}

func newNodeExec(of *ofShoot) *cobra.Command {
	return &cobra.Command{
		Use:   "exec NODE -- COMMAND [ARGUMENT…]",
		Short: "Run a command on a node, or on the router (in its network namespace)",
		Args:  invalid(cobra.MinimumNArgs(2)),
		RunE: of.run(func(cmd *cobra.Command, client *control.Client, args []string) error {
			nodes, err := client.Nodes(cmd.Context())
			if err != nil {
				return err
			}
			pid, namespaces := nodes.Router, enter.Network
			if args[0] != routerName {
				if pid, err = runningNode(nodes, args[0]); err != nil {
					return err
				}
				namespaces = enter.Node
			}
			status, err := enter.Run(pid, namespaces, args[1:])
			if err == nil && status != 0 {
				return exitStatus(status)
			}
			return err
		}),
	}
}

func runningNode(nodes control.Nodes, name string) (pid int, err error) {
	var names []string
	for _, node := range nodes.Nodes {
		if node.Name == name && node.PID == 0 {
			return 0, options.Invalidf("%s is down; start it with `trellis-sandbox node start`", name)
		}
		if node.Name == name {
			return node.PID, nil
		}
		names = append(names, node.Name)
	}
	return 0, options.Invalidf("there is no node %q; there are %q and %q", name, names, routerName)
}

func newNodeKill(of *ofShoot) *cobra.Command {
	return &cobra.Command{
		Use:   "kill NODE",
		Short: "End a node at once, as if its power was cut",
		Args:  invalid(cobra.ExactArgs(1)),
		RunE: of.run(func(cmd *cobra.Command, client *control.Client, args []string) error {
			return client.Kill(cmd.Context(), args[0])
		}),
	}
}

func newNodeStart(of *ofShoot) *cobra.Command {
	return &cobra.Command{
		Use:   "start NODE",
		Short: "Start a node that was killed, with the files that it had",
		Args:  invalid(cobra.ExactArgs(1)),
		RunE: of.run(func(cmd *cobra.Command, client *control.Client, args []string) error {
			return client.Start(cmd.Context(), args[0])
		}),
	}
}

func newNodeFault(of *ofShoot) *cobra.Command {
	var faults network.Faults
	cmd := &cobra.Command{
		Use:   "fault NODE",
		Short: "Disturb what a node sends and receives; this replaces its former faults",
		Args:  invalid(cobra.ExactArgs(1)),
		PreRunE: func(cmd *cobra.Command, args []string) error {
			if faults.IsZero() {
				return options.Invalidf("fault needs a fault: --link-down, --loss, --block, --mtu or --cut-off-from; `trellis-sandbox node heal %s` removes those of the node", args[0])
			}
			return faults.Check()
		},
		RunE: of.run(func(cmd *cobra.Command, client *control.Client, args []string) error {
			return client.SetFaults(cmd.Context(), args[0], faults)
		}),
	}
	cmd.Flags().BoolVar(&faults.LinkDown, "link-down", false, "take the carrier off the node's interface")
	cmd.Flags().IntVar(&faults.LossPercent, "loss", 0, "lose this `percentage` of the packets, in each direction")
	cmd.Flags().StringVar(&faults.Block, "block", "", "let no packet pass in one `direction`: in to the node, or out of it")
	cmd.Flags().IntVar(&faults.MTU, "mtu", 0, "let IP packets that are longer than this many `bytes` vanish, in both directions")
	cmd.Flags().StringSliceVar(&faults.CutOffFrom, "cut-off-from", nil, "let no packet of the node get to these other `nodes`; the other direction stays")
	return cmd
}

func newNodePartition(of *ofShoot) *cobra.Command {
	return &cobra.Command{
		Use:   "partition NODE…",
		Short: "Cut nodes off from all others, in both directions; all still reach the API server",
		Args:  invalid(cobra.MinimumNArgs(1)),
		RunE: of.run(func(cmd *cobra.Command, client *control.Client, args []string) error {
			nodes, err := client.Nodes(cmd.Context())
			if err != nil {
				return err
			}
			if err := checkSides(nodes, args); err != nil {
				return err
			}
			for _, node := range nodes.Nodes {
				if err := client.SetFaults(cmd.Context(), node.Name, partitioned(node, nodes, args)); err != nil {
					return err
				}
			}
			return nil
		}),
	}
}

// checkSides returns an options.Invalid unless there are the named nodes, and others.
func checkSides(nodes control.Nodes, side []string) error {
	var names []string
	for _, node := range nodes.Nodes {
		names = append(names, node.Name)
	}
	for _, name := range side {
		if !slices.Contains(names, name) {
			return options.Invalidf("there is no node %q; there are %q", name, names)
		}
	}
	if !slices.ContainsFunc(names, func(name string) bool { return !slices.Contains(side, name) }) {
		return options.Invalidf("partition has all nodes on one side; leave out one of %q at least", names)
	}
	return nil
}

// partitioned are the faults of a node with those of a partition, which has the named nodes
// on one side.
func partitioned(node control.Node, all control.Nodes, side []string) network.Faults {
	faults := node.Faults
	faults.CutOffFrom = nil
	for _, other := range all.Nodes {
		if slices.Contains(side, node.Name) != slices.Contains(side, other.Name) {
			faults.CutOffFrom = append(faults.CutOffFrom, other.Name)
		}
	}
	return faults
}

func newNodeHeal(of *ofShoot) *cobra.Command {
	return &cobra.Command{
		Use:   "heal [NODE…]",
		Short: "Remove the faults of the named nodes, or of all",
		RunE: of.run(func(cmd *cobra.Command, client *control.Client, args []string) error {
			if len(args) == 0 {
				nodes, err := client.Nodes(cmd.Context())
				if err != nil {
					return err
				}
				for _, node := range nodes.Nodes {
					args = append(args, node.Name)
				}
			}
			for _, name := range args {
				if err := client.SetFaults(cmd.Context(), name, network.Faults{}); err != nil {
					return err
				}
			}
			return nil
		}),
	}
}
