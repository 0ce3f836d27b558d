// SPDX-License-Identifier: Apache-2.0

package main

import (
	"github.com/spf13/cobra"

	"github.com/trellis-network/trellis/sandbox/internal/needs"
	"github.com/trellis-network/trellis/sandbox/internal/options"
	"github.com/trellis-network/trellis/sandbox/internal/sandbox"
)

func newCheck() *cobra.Command {
	planned := needs.Counts{}
	cmd := &cobra.Command{
		Use:   "check",
		Short: "Find out whether this machine can run real nodes, and say what is missing",
		Long: `Finds out whether there are the programs, cgroups, memory, disk space and
instances of inotify that the planned sandboxes with real nodes take, which run at the
same time. Then it makes a real node without programs, with its namespaces, cgroups,
mounts and network, and removes all of it. It takes about a second.

Exit status: 0 when they can run here, 2 when they cannot; then one line on standard
error says why.`,
		Example: `  trellis-sandbox check
  trellis-sandbox check --sandboxes 3 --shoots 3 --real-nodes 7`,
		Args: noArguments,
		RunE: func(*cobra.Command, []string) error {
			if planned.Sandboxes < 1 || planned.Shoots < 1 || planned.RealNodes < 1 {
				return options.Invalidf("--sandboxes, --shoots and --real-nodes are 1 at least")
			}
			planned.Importers = min(planned.Shoots, planned.RealNodes)
			return sandbox.CheckRealNodes(planned)
		},
	}
	cmd.Flags().IntVar(&planned.Sandboxes, "sandboxes", 1, "`number` of sandboxes that run at the same time")
	cmd.Flags().IntVar(&planned.Shoots, "shoots", 1, "`number` of shoots in all of them")
	cmd.Flags().IntVar(&planned.RealNodes, "real-nodes", 1, "`number` of real nodes in all of them")
	return cmd
}
