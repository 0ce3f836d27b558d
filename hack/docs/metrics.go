// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/trellis-network/trellis/hack/section"
	"github.com/trellis-network/trellis/internal/metrics"
)

// writeMetrics writes the table of all metrics.
func writeMetrics() error {
	var table strings.Builder
	table.WriteString("| Name | Kind | Labels | Meaning |\n|---|---|---|---|\n")
	for _, metric := range metrics.All() {
		labels := "`" + strings.Join(slices.Sorted(slices.Values(metric.Labels)), "`, `") + "`"
		fmt.Fprintf(&table, "| `%s` | %s | %s | %s |\n", metric.Name, metric.Kind, labels, metric.Help)
	}
	return section.Write("docs/metrics.md", "metrics", table.String())
}
