// SPDX-License-Identifier: Apache-2.0

// Command docs writes the generated sections of documents: the options in each plugin's
// README.md, docs/operator-configuration.md and docs/metrics.md. `make generate` runs it.
package main

import (
	"fmt"
	"os"
)

func main() {
	for _, write := range []func() error{writeOptions, writeConfiguration, writeMetrics} {
		if err := write(); err != nil {
			fmt.Fprintln(os.Stderr, "docs:", err)
			os.Exit(1)
		}
	}
}
