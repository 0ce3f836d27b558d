// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/trellis-network/trellis/hack/section"
	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/plugins"
)

// writeChanges writes, into docs/errors.md, what each plugin says of changes of a running network:
// the reasons that follow "cannot change from A to B" and "the change from A to B is disruptive".
// Safe changes have no warning.
func writeChanges() error {
	var page strings.Builder
	for i, one := range plugins.All() {
		if i > 0 {
			page.WriteString("\n")
		}
		fmt.Fprintf(&page, "### %s: changes\n\n| What changes | Effect | Reason, and what to do |\n|---|---|---|\n", one.Type)
		fields := map[string][]string{} // by the rest of their row
		for path, each := range one.Changes {
			for _, change := range each {
				if change.Class != plugin.Safe {
					rest := strings.TrimSpace(string(change.Class)+" "+change.When) + " | " + strings.ReplaceAll(change.Reason, "|", `\|`)
					fields[rest] = append(fields[rest], "`"+path+"`")
				}
			}
		}
		var rows []string
		for rest, paths := range fields {
			slices.Sort(paths)
			rows = append(rows, "| "+strings.Join(slices.Compact(paths), ", ")+" | "+rest+" |\n")
		}
		slices.Sort(rows)
		page.WriteString(strings.Join(rows, ""))
	}
	return section.Write("docs/errors.md", "changes", page.String())
}
