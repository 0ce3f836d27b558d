// SPDX-License-Identifier: Apache-2.0

package cli

import (
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
			info, _ := debug.ReadBuildInfo()
			if _, err := fmt.Fprintln(cmd.OutOrStdout(), version(info)); err != nil {
				return &ioError{err}
			}
			return nil
		},
	}
}

// version is one line made of what Go records in a program.
func version(info *debug.BuildInfo) string {
	line := "trellis "
	if info == nil || info.Main.Version == "" {
		line += "(devel)"
	} else {
		line += info.Main.Version
	}
	if info != nil {
		for _, setting := range info.Settings {
			if setting.Key == "vcs.revision" {
				line += ", commit " + setting.Value
			}
		}
	}
	return line + ", " + runtime.Version()
}
