// SPDX-License-Identifier: Apache-2.0

// Command trellis checks pod networks and renders their objects.
package main

import (
	"os"

	"github.com/trellis-network/trellis/cli"
	"github.com/trellis-network/trellis/plugins"
	"github.com/trellis-network/trellis/providers"
)

func main() {
	streams := cli.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}
	os.Exit(cli.Run(os.Args[1:], streams, plugins.All(), providers.All()))
}
