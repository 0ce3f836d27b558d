// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"

	"github.com/trellis-network/trellis/hack/gobuild"
	"github.com/trellis-network/trellis/test/sandbox/internal/cache"
)

// Where programs go in the directory: those of nodes, and those that are in images only, or make
// them.
const (
	bin   = "bin"
	cni   = "bin/cni"
	parts = "parts"
)

// programs are Go programs of one module that are built with the same flags.
type programs struct {
	// module is the directory of the module, relative to that of the sandbox.
	module string
	// packages are those of the programs. "tool" are the tools of the module.
	packages []string
	flags    []string
	// to is the directory of the programs.
	to string
}

// ofNodes are all programs of nodes. What is compiled for one of them is there for the next.
func ofNodes(entry *cache.Entry) []programs {
	containerd := append(flags(), "-tags=no_btrfs,no_devmapper,no_zfs")
	return []programs{
		{".", []string{"tool"}, buildFlags(entry), bin},
		{".", []string{"./cmd/node-images", "./cmd/pause", "./cmd/traffic"}, flags(), parts},
		{"components/containerd", []string{"tool"}, containerd, bin},
		{"components/coredns", []string{"."}, flags(), parts},
		{"../agents", []string{"tool"}, flags(), cni},
		{"../agents", []string{"./cmd/flanneld", "./cmd/flannel-cni"}, flags(), parts},
		{"..", []string{"./cmd/trellis-probe"}, flags(), parts},
		{"../examples/gardenet", []string{"./gardenet-agent"}, flags(), parts},
	}
}

// buildNodePrograms compiles all programs of nodes, and assembles the images.
func buildNodePrograms(ctx context.Context, entry *cache.Entry, dir string) error {
	fmt.Fprintln(os.Stderr, "real nodes: building their programs and images (4 minutes the first time, on two cores; seconds later)")
	for _, some := range ofNodes(entry) {
		name, to := path.Join("trellis/sandbox", some.module), filepath.Join(dir, some.to)
		if err := os.MkdirAll(to, 0o755); err != nil {
			return err
		}
		building := gobuild.Build{
			Name: "real nodes", Dir: filepath.Join(entry.Module, some.module), Env: buildEnvironment, Flags: some.flags,
			Output: to + string(filepath.Separator), Packages: some.packages,
			Preparing: "finding what to compile in " + name + " (a new machine first downloads modules)",
			Long:      "compiling " + name + " takes minutes on two cores; later builds take seconds",
		}
		if err := building.Run(ctx); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	assemble := exec.CommandContext(ctx, filepath.Join(dir, parts, "node-images"), dir, filepath.Dir(entry.Module))
	assemble.Stderr = os.Stderr
	if err := assemble.Run(); err != nil {
		return fmt.Errorf("assemble images: %w", err)
	}
	return os.RemoveAll(filepath.Join(dir, parts))
}
