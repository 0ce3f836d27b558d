// SPDX-License-Identifier: Apache-2.0

package main

import (
	"github.com/spf13/cobra"

	"github.com/trellis-network/trellis/sandbox/internal/sandbox"
)

func newCheck() *cobra.Command {
	return &cobra.Command{
		Use:   "check",
		Short: "Find out whether this machine can run real nodes, and say what is missing",
		Long: `Makes a real node without programs, with its namespaces, cgroups, mounts and
network, and removes all of it. It takes about a second.

Exit status: 0 when real nodes can run here, 2 when they cannot; then one line on
standard error says why.`,
		Args: noArguments,
		RunE: func(*cobra.Command, []string) error { return sandbox.CheckRealNodes() },
	}
}
