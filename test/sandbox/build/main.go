// SPDX-License-Identifier: Apache-2.0

// Command build builds the sandbox program into the cache if the cache does not
// have it, and prints its path. With -path it builds nothing.
//
//	go run ./test/sandbox/build
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/trellis-network/trellis/test/sandbox"
	"github.com/trellis-network/trellis/test/sandbox/internal/cache"
)

func main() {
	onlyPath := flag.Bool("path", false, "print the path of the built program, or fail if it is not built")
	flag.Parse()
	if flag.NArg() > 0 {
		fmt.Fprintf(os.Stderr, "build takes no argument, but got %q\n", flag.Arg(0))
		os.Exit(2)
	}
	path, err := locate(*onlyPath)
	if err != nil {
		fmt.Fprintln(os.Stderr, "sandbox:", err)
		os.Exit(1)
	}
	fmt.Println(path)
}

func locate(onlyPath bool) (string, error) {
	if onlyPath {
		return sandbox.Binary()
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	entry, err := cache.Find()
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
		if err := build(ctx, entry); err != nil {
			return "", fmt.Errorf("build the sandbox: %w", err)
		}
	}
	return entry.Path(), entry.Prune()
}
