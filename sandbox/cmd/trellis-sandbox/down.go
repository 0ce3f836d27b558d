// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/trellis-network/trellis/sandbox/internal/background"
)

func newDown() *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use:     "down",
		Short:   "Stop the sandbox that runs in a directory, wait until all of it is gone, and remove the files of its nodes",
		Example: "  trellis-sandbox down --dir /tmp/landscape",
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			stopped, err := background.Down(dir)
			if err != nil {
				return err
			}
			if !stopped {
				fmt.Fprintf(cmd.ErrOrStderr(), "trellis-sandbox: no sandbox runs in %s\n", dir)
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&dir, "dir", "", "`directory` of the sandbox, as `up` printed it")
	return cmd
}
