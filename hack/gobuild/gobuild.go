// SPDX-License-Identifier: Apache-2.0

// Package gobuild runs `go build` and shows how far it is: compiling Kubernetes' packages
// for the first time takes minutes. It needs nothing but Go's standard library, so that a
// program which uses it is there in a moment.
package gobuild

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync/atomic"
	"time"
)

const (
	// reminder is how often at least a line is written.
	reminder = 10 * time.Second
	// few is how many packages compile so fast that the user needs no warning.
	few = 300
)

// Build is something to compile.
type Build struct {
	// Name begins each line of progress.
	Name string
	// Dir and Env are those of the go command, as in exec.Cmd. Env adds to this process' own.
	Dir string
	Env []string
	// Flags go to both go list and go build.
	Flags []string
	// Output is where the programs go, as with go build. If empty, only Go's cache keeps
	// what is compiled.
	Output string
	// Packages are patterns of packages.
	Packages []string
	// Tests compiles the packages and what their tests import, but no programs.
	Tests bool
	// Preparing says what happens before anything is compiled, and Long is printed
	// before a long compilation.
	Preparing, Long string

	started         time.Time
	total, compiled atomic.Int64
}

// Run compiles, with progress on standard error. Its error holds what the go
// command complained about.
func (b *Build) Run(ctx context.Context) error {
	b.started = time.Now()
	ticker := time.NewTicker(reminder)
	defer ticker.Stop()
	go func() {
		for range ticker.C {
			b.report()
		}
	}()
	stale, err := b.stale(ctx)
	if err != nil {
		return err
	}
	packages := b.Packages
	if b.Tests {
		if packages = stale; len(stale) == 0 {
			return nil
		}
	}
	if b.total.Store(int64(len(stale))); len(stale) > few {
		fmt.Fprintf(os.Stderr, "%s: %s\n", b.Name, b.Long)
		b.report()
	}
	args := slices.Concat([]string{"build", "-v"}, b.Flags)
	if b.Output != "" {
		args = append(args, "-o", b.Output)
	}
	// With -v go build names each package that it compiles.
	return b.goCommand(ctx, append(args, packages...), nil, func(line string) bool {
		isPackage := line != "" && !strings.HasPrefix(line, "#") && !strings.ContainsAny(line, " \t:")
		if isPackage {
			b.compiled.Add(1)
		}
		return isPackage
	})
}

// report writes a line of progress.
func (b *Build) report() {
	doing := b.Preparing
	switch done, total := b.compiled.Load(), b.total.Load(); {
	case total == 0:
	case done >= total:
		doing = "linking"
	default:
		doing = fmt.Sprintf("compiling: %d %% (%d of %d packages)", 100*done/total, done, total)
	}
	fmt.Fprintf(os.Stderr, "%s: [%s] %s\n", b.Name, time.Since(b.started).Round(time.Second), doing)
}

// stale lists the packages that Go's own cache does not have. For tests these are the ones
// that can be imported: neither programs nor the variants of packages for a test.
func (b *Build) stale(ctx context.Context) ([]string, error) {
	args := slices.Concat([]string{"list", "-deps"}, b.Flags)
	if b.Tests {
		args = append(args, "-test", "-f", `{{if and .Stale (not .ForTest) (ne .Name "main")}}{{.ImportPath}}{{end}}`)
	} else {
		args = append(args, "-f", "{{if .Stale}}{{.ImportPath}}{{end}}")
	}
	var output bytes.Buffer
	err := b.goCommand(ctx, append(args, b.Packages...), &output, func(string) bool { return false })
	return strings.Fields(output.String()), err
}

// goCommand runs the go command. The lines of its standard error that are no progress are
// part of the error.
func (b *Build) goCommand(ctx context.Context, args []string, stdout io.Writer, isProgress func(line string) bool) error {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir, cmd.Env, cmd.Stdout = b.Dir, append(os.Environ(), b.Env...), stdout
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	stderr, err := cmd.StderrPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	var complaints strings.Builder
	for lines := bufio.NewScanner(stderr); lines.Scan(); {
		if !isProgress(lines.Text()) {
			complaints.WriteString(lines.Text() + "\n")
		}
	}
	if err := cmd.Wait(); err != nil && ctx.Err() == nil {
		return fmt.Errorf("%w\n%s", err, complaints.String())
	}
	return context.Cause(ctx)
}
