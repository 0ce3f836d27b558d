// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"github.com/trellis-network/trellis/hack/gobuild"
	"github.com/trellis-network/trellis/test/sandbox/internal/cache"
)

// publish lets make fill a directory beside the entry and then renames it into place, so that no
// process sees an incomplete entry.
func publish(ctx context.Context, entry *cache.Entry, make func(ctx context.Context, entry *cache.Entry, dir string) error) error {
	temporary, err := os.MkdirTemp(entry.Root, "build-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temporary)
	if err := make(ctx, entry, temporary); err != nil {
		return err
	}
	if err := os.Chmod(temporary, 0o755); err != nil {
		return err
	}
	return os.Rename(temporary, entry.Dir)
}

// buildSandbox compiles the sandbox program.
func buildSandbox(ctx context.Context, entry *cache.Entry, dir string) error {
	building := gobuild.Build{
		Name: "sandbox", Dir: entry.Module, Env: buildEnvironment, Flags: buildFlags(entry),
		Output: filepath.Join(dir, cache.Program), Packages: []string{"./cmd/" + cache.Program},
		Preparing: "finding the packages to compile (a new machine first downloads Kubernetes' modules, about 200 MB)",
		Long:      "compiling Kubernetes takes 6 to 12 minutes on two cores; later builds take seconds",
	}
	return building.Run(ctx)
}

// buildEnvironment builds each module on its own, outside any Go workspace.
var buildEnvironment = []string{"CGO_ENABLED=0", "GOWORK=off"}

// buildFlags strip what a sandbox does not need and tell Kubernetes its version, as its own
// build does. All programs with parts of Kubernetes have the same flags, so that Go compiles them
// once.
func buildFlags(entry *cache.Entry) []string {
	version := entry.KubernetesVersion
	parts := strings.Split(strings.TrimPrefix(version, "v"), ".")
	var linker []string
	for _, pkg := range []string{"k8s.io/component-base/version", "k8s.io/client-go/pkg/version"} {
		linker = append(linker,
			"-X "+pkg+".gitVersion="+version,
			"-X "+pkg+".gitMajor="+parts[0],
			"-X "+pkg+".gitMinor="+parts[1])
	}
	return flags(linker...)
}

// flags are the flags of go build, with further ones for the linker.
func flags(linker ...string) []string {
	return []string{"-buildvcs=false", "-ldflags=" + strings.Join(append([]string{"-s", "-w"}, linker...), " ")}
}
