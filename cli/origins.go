// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/trellis-network/trellis/pipeline"
)

// addOriginsFlag offers to show where the values in force come from.
func addOriginsFlag(cmd *cobra.Command, show *bool, where string) {
	cmd.Flags().BoolVar(show, "show-origins", false, "also print each value in force to "+where+", with its origin: user,\ndefault, infrastructure, rule, or applied (kept from when the network was first\napplied)")
}

// origins reports each value that is in force and where it comes from.
func (r *reporter) origins(result *pipeline.Result) {
	values, err := result.Values()
	if err != nil {
		r.line("error", "", err.Error())
		return
	}
	if len(values) == 0 {
		return
	}
	var table strings.Builder
	aligned := tabwriter.NewWriter(&table, 0, 0, 3, ' ', 0)
	fmt.Fprintln(aligned, "PATH\tVALUE\tORIGIN")
	for _, value := range values {
		fmt.Fprintf(aligned, "%s\t%s\t%s\n", value.Path, oneLine(shown(value.Value)), value.Origin)
	}
	_ = aligned.Flush() // to memory
	for line := range strings.Lines(table.String()) {
		r.print(strings.TrimRight(line, " \n"))
	}
}
