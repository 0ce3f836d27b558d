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
	output := flag.String("o", "", "what to write the programs to, as with go build")
	tests := flag.Bool("tests", false, "compile what the packages' tests import, and write nothing")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := compile(ctx, *output, *tests, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "compile:", err)
		stop()
		os.Exit(1)
	}
}

func compile(ctx context.Context, output string, tests bool, packages []string) error {
	return gobuild.Build{
		Name: "trellis", Output: output, Packages: packages, Tests: tests,
		Preparing: "looking what is to be compiled (a fresh machine loads modules first)",
		Long:      "compiling takes some minutes on two cores; this is needed once",
	}.Run(ctx)
}
