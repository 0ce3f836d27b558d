package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/trellis-network/trellis/test/sandbox/internal/cache"
)

const target = "./cmd/" + cache.Program

// build compiles the program beside its entry and then renames it into place,
// so that whoever sees the entry sees a whole program.
func build(ctx context.Context, entry *cache.Entry) error {
	temporary, err := os.MkdirTemp(entry.Root, "build-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temporary)

	show := startProgress()
	defer show.stop()
	show.phase("looking what is to be compiled (a fresh machine loads Kubernetes' modules first, some 200 MB)")
	stale, err := stalePackages(ctx, entry)
	if err != nil {
		return err
	}
	show.compiling(stale)
	if err := compile(ctx, entry, filepath.Join(temporary, cache.Program), show.compiled); err != nil {
		return err
	}
	if err := os.Chmod(temporary, 0o755); err != nil {
		return err
	}
	return os.Rename(temporary, entry.Dir)
}

// stalePackages counts the packages that Go's own cache does not have.
func stalePackages(ctx context.Context, entry *cache.Entry) (int, error) {
	args := append([]string{"list", "-deps", "-f", "{{if .Stale}}{{.ImportPath}}{{end}}"}, buildFlags(entry)...)
	cmd := command(ctx, entry, append(args, target)...)
	var complaints bytes.Buffer
	cmd.Stderr = &complaints
	out, err := cmd.Output()
	if err != nil {
		return 0, failure(ctx, err, complaints.String())
	}
	return len(strings.Fields(string(out))), nil
}

// compile runs go build, which names each package that it has to compile.
func compile(ctx context.Context, entry *cache.Entry, output string, compiled func()) error {
	args := append([]string{"build", "-v", "-o", output}, buildFlags(entry)...)
	cmd := command(ctx, entry, append(args, target)...)
	stderr, err := cmd.StderrPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	var complaints strings.Builder
	for lines := bufio.NewScanner(stderr); lines.Scan(); {
		if line := lines.Text(); isPackage(line) {
			compiled()
		} else {
			complaints.WriteString(line + "\n")
		}
	}
	return failure(ctx, cmd.Wait(), complaints.String())
}

// isPackage tells the import paths that -v prints from errors and remarks.
func isPackage(line string) bool {
	return line != "" && !strings.HasPrefix(line, "#") && !strings.ContainsAny(line, " \t:")
}

// command is Go in the sandbox's module, whatever workspace is around.
func command(ctx context.Context, entry *cache.Entry, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = entry.Module
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off")
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	return cmd
}

// buildFlags strip what nobody needs and tell Kubernetes its version, which its
// own build would.
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

func failure(ctx context.Context, err error, complaints string) error {
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	default:
		return fmt.Errorf("%w\n%s", err, complaints)
	}
}
