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

// build compiles the program beside its entry and then renames it into place, so
// that no process sees an entry with an incomplete program.
func build(ctx context.Context, entry *cache.Entry) error {
	temporary, err := os.MkdirTemp(entry.Root, "build-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temporary)

	// GOWORK=off builds the module on its own, outside any Go workspace.
	building := gobuild.Build{
		Name: "sandbox", Dir: entry.Module, Env: []string{"CGO_ENABLED=0", "GOWORK=off"}, Flags: buildFlags(entry),
		Output: filepath.Join(temporary, cache.Program), Packages: []string{"./cmd/" + cache.Program},
		Preparing: "finding the packages to compile (a new machine first downloads Kubernetes' modules, about 200 MB)",
		Long:      "compiling Kubernetes takes 6 to 12 minutes on two cores; later builds take seconds",
	}
	if err := building.Run(ctx); err != nil {
		return err
	}
	if err := os.Chmod(temporary, 0o755); err != nil {
		return err
	}
	return os.Rename(temporary, entry.Dir)
}

// buildFlags strip what the sandbox does not need and tell Kubernetes its version, as
// its own build does.
func buildFlags(entry *cache.Entry) []string {
	version := entry.KubernetesVersion
	parts := strings.Split(strings.TrimPrefix(version, "v"), ".")
	linker := []string{"-s", "-w"}
	for _, pkg := range []string{"k8s.io/component-base/version", "k8s.io/client-go/pkg/version"} {
		linker = append(linker,
			"-X "+pkg+".gitVersion="+version,
			"-X "+pkg+".gitMajor="+parts[0],
			"-X "+pkg+".gitMinor="+parts[1])
	}
	return []string{"-trimpath", "-buildvcs=false", "-ldflags=" + strings.Join(linker, " ")}
}
