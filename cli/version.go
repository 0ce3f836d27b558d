// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

func newVersion() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version of this program",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return written(fmt.Fprintln(cmd.OutOrStdout(), version()))
		},
	}
}

// version is one line made of what Go records in a program.
func version() string {
	info, has := debug.ReadBuildInfo()
	if !has {
		return "trellis (devel), " + runtime.Version()
	}
	line := "trellis " + cmp.Or(info.Main.Version, "(devel)")
	for _, setting := range info.Settings {
		if setting.Key == "vcs.revision" {
			line += ", commit " + setting.Value
		}
	}
	return line + ", " + runtime.Version()
}
