// SPDX-License-Identifier: Apache-2.0

// Command docs writes the generated sections of documents: the options in each plugin's
// README.md, docs/operator-configuration.md, docs/metrics.md, docs/errors.md and docs/operate.md.
// `make generate` runs it.
package main

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/trellis-network/trellis/hack/section"
	"github.com/trellis-network/trellis/internal/metrics"
)

func main() {
	for _, write := range []func() error{writeOptions, writeConfiguration, writeMetrics, writeMessages, writeChanges, writeGates, writeVersions} {
		if err := write(); err != nil {
			fmt.Fprintln(os.Stderr, "docs:", err)
			os.Exit(1)
		}
	}
}

// writeMetrics writes the table of all metrics.
func writeMetrics() error {
	var table strings.Builder
	table.WriteString("| Name | Kind | Labels | Meaning |\n|---|---|---|---|\n")
	for _, metric := range metrics.All() {
		labels := "`" + strings.Join(slices.Sorted(slices.Values(metric.Labels)), "`, `") + "`"
		if len(metric.Labels) == 0 {
			labels = ""
		}
		fmt.Fprintf(&table, "| `%s` | %s | %s | %s |\n", metric.Name, metric.Kind, labels, metric.Help)
	}
	return section.Write("docs/metrics.md", "metrics", table.String())
}
