// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/trellis-network/trellis/pipeline"
)

// addOriginsFlag adds the flag that shows the origin of each value in force.
func addOriginsFlag(cmd *cobra.Command, show *bool, where string) {
	cmd.Flags().BoolVar(show, "show-origins", false, "also print each value in force and its origin to "+where+".\nOrigins: user, default, infrastructure, rule, applied (kept since the network was\nfirst applied)")
}

// origins reports each value in force with its origin.
func (r *reporter) origins(result *pipeline.Result) {
	if len(result.Values) == 0 {
		return
	}
	var table strings.Builder
	aligned := tabwriter.NewWriter(&table, 0, 0, 3, ' ', 0)
	fmt.Fprintln(aligned, "PATH\tVALUE\tORIGIN")
	for _, path := range slices.Sorted(maps.Keys(result.Values)) {
		fmt.Fprintf(aligned, "%s\t%s\t%s\n", path, oneLine(shown(result.Values[path])), result.Origins[path])
	}
	_ = aligned.Flush() // to memory
	for line := range strings.Lines(table.String()) {
		r.print(strings.TrimRight(line, " \n"))
	}
}
