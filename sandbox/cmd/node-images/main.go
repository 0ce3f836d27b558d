// SPDX-License-Identifier: Apache-2.0

// Command node-images assembles the images of the pods of real nodes. It is a part of
// `go run ./test/sandbox/build -real-nodes`, which builds the programs first:
//
//	node-images DIR CHECKOUT
package main

import (
	"fmt"
	"os"

	"github.com/trellis-network/trellis/sandbox/internal/nodeimages"
)

func main() {
	const arguments = 2
	if len(os.Args) != 1+arguments {
		fmt.Fprintln(os.Stderr, "usage: node-images DIR CHECKOUT")
		os.Exit(2)
	}
	if err := nodeimages.Assemble(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
