// SPDX-License-Identifier: Apache-2.0

// Command compile is `go build` with progress. With -tests it compiles what the
// packages and their tests import, so that `go test` has its results at once.
//
//	go run ./hack/compile -o bin/ ./cmd/...
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/trellis-network/trellis/hack/gobuild"
)

func main() {
	build := gobuild.Build{
		Name:      "trellis",
		Preparing: "finding what must be compiled (a fresh machine loads modules first)",
		Long:      "compiling takes some minutes on two cores; this is needed once",
	}
	flag.StringVar(&build.Output, "o", "", "what to write the programs to, as with go build")
	flag.BoolVar(&build.Tests, "tests", false, "compile what the packages' tests import, and write nothing")
	flag.Parse()
	build.Packages = flag.Args()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := build.Run(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "compile:", err)
		os.Exit(1)
	}
}
