// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/trellis-network/trellis/internal/request"
)

func newVersion() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version of this program",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return written(fmt.Fprintf(cmd.OutOrStdout(), "trellis %s, %s\n", request.Version(), runtime.Version()))
		},
	}
}
