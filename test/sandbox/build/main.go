// SPDX-License-Identifier: Apache-2.0

// Command build builds the sandbox program into the cache if the cache does not
// have it, and prints its path. With -real-nodes it builds what real nodes run, and prints the
// directory, which `trellis-sandbox up` takes as --node-programs. With -path it builds nothing.
// With -missing it builds nothing either, and prints in one line why a target of make cannot run
// with real nodes on this machine, or nothing if it can; it needs the sandbox to be built.
//
//	go run ./test/sandbox/build
//	go run ./test/sandbox/build -real-nodes
//	go run ./test/sandbox/build -missing e2e
package main

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/trellis-network/trellis/test/sandbox"
	"github.com/trellis-network/trellis/test/sandbox/internal/cache"
)

func main() {
	onlyPath := flag.Bool("path", false, "print the path of what is built, or fail if it is not built")
	realNodes := flag.Bool("real-nodes", false, "build the programs and images of real nodes instead of the sandbox, and print their directory")
	missing := flag.String("missing", "", "print why this `target` of make (demo or e2e) cannot run with real nodes here, or nothing if it can")
	flag.Parse()
	if flag.NArg() > 0 {
		fmt.Fprintf(os.Stderr, "build takes no argument, but got %q\n", flag.Arg(0))
		os.Exit(2)
	}
	wanted := theSandbox
	if *realNodes {
		wanted = nodePrograms
	}
	locate := wanted.built
	switch {
	case *missing != "":
		plan, known := sandbox.Plans[*missing]
		if !known {
			fmt.Fprintf(os.Stderr, "-missing %s: it is one of %q\n", *missing, slices.Sorted(maps.Keys(sandbox.Plans)))
			os.Exit(2)
		}
		locate = func() (string, error) { return sandbox.WithoutRealNodes(context.Background(), plan) }
	case *onlyPath:
		locate = wanted.path
	}
	found, err := locate()
	if err != nil {
		fmt.Fprintln(os.Stderr, "sandbox:", err)
		os.Exit(1)
	}
	if found != "" {
		fmt.Println(found)
	}
}

// product is something that this command builds.
type product struct {
	// name is what its errors call it.
	name string
	// path returns where it is, or an error if it is not built.
	path func() (string, error)
	// find returns its entry in the cache, and make fills the directory of the entry.
	find func() (*cache.Entry, error)
	make func(ctx context.Context, entry *cache.Entry, dir string) error
}

var (
	theSandbox   = product{"the sandbox", sandbox.Binary, cache.Find, buildSandbox}
	nodePrograms = product{"the programs of nodes", sandbox.NodePrograms, cache.FindNodePrograms, buildNodePrograms}
)

// built builds the product unless the cache has it, and returns where it is.
func (p product) built() (string, error) {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	entry, err := p.find()
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(entry.Root, 0o755); err != nil {
		return "", fmt.Errorf("%w; set TRELLIS_CACHE to a writable directory", err)
	}
	unlock, err := lock(ctx, filepath.Join(entry.Root, "lock"))
	if err != nil {
		return "", err
	}
	defer unlock()
	if !entry.Built() {
		if err := publish(ctx, entry, p.make); err != nil {
			return "", fmt.Errorf("build %s: %w", p.name, err)
		}
	}
	if err := entry.Prune(); err != nil {
		return "", err
	}
	return p.path()
}
