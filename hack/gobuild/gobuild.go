// SPDX-License-Identifier: Apache-2.0

// Package gobuild runs the go command and shows how far it is, which the go
// command itself does not: compiling Kubernetes' packages for the first time
// takes minutes. It knows no package of Trellis and needs nothing but Go's
// standard library, so that a program which uses it is there in a moment.
package gobuild

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
)

// Build is something to compile.
type Build struct {
	// Name begins each line of progress.
	Name string
	// Dir is the directory to build in, the working directory if empty.
	Dir string
	// Env are further environment variables, as NAME=VALUE.
	Env []string
	// Flags go to both go list and go build.
	Flags []string
	// Output is what to write the programs to; nothing is kept if it is empty, but
	// for what Go's own cache keeps.
	Output string
	// Packages are patterns of packages.
	Packages []string
	// Tests also compiles what the packages' tests need.
	Tests bool
	// Preparing says what happens before anything is compiled, and Long is printed
	// before a long compilation.
	Preparing, Long string
}

// Run compiles, with progress on standard error. Its error holds what the go
// command complained about.
func (b Build) Run(ctx context.Context) error {
	show := startProgress(b.Name, b.Long)
	defer show.stop()
	show.phase(b.Preparing)
	stale, err := b.stale(ctx)
	if err != nil {
		return err
	}
	packages := b.Packages
	if b.Tests {
		stale = slices.DeleteFunc(stale, isOfTests)
		if packages = stale; len(stale) == 0 {
			return nil
		}
	}
	show.compiling(len(stale))
	return b.compile(ctx, packages, show.compiled)
}

// stale lists the packages that Go's own cache does not have.
func (b Build) stale(ctx context.Context) ([]string, error) {
	args := append([]string{"list", "-deps", "-f", "{{if .Stale}}{{.ImportPath}}{{end}}"}, b.Flags...)
	if b.Tests {
		args = append(args, "-test")
	}
	cmd := b.command(ctx, append(args, b.Packages...)...)
	var complaints bytes.Buffer
	cmd.Stderr = &complaints
	out, err := cmd.Output()
	if err != nil {
		return nil, failure(ctx, err, complaints.String())
	}
	return strings.FieldsFunc(string(out), func(r rune) bool { return r == '\n' }), nil
}

// isOfTests tells what cannot be compiled by its name: the variants of packages
// for tests, and the tests' programs.
func isOfTests(name string) bool {
	return strings.Contains(name, " ") || strings.HasSuffix(name, ".test") || strings.HasSuffix(name, "_test")
}

// compile runs go build, which names each package that it has to compile.
func (b Build) compile(ctx context.Context, packages []string, compiled func()) error {
	args := append([]string{"build", "-v"}, b.Flags...)
	if b.Output != "" {
		args = append(args, "-o", b.Output)
	}
	cmd := b.command(ctx, append(args, packages...)...)
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

func (b Build) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = b.Dir
	cmd.Env = append(os.Environ(), b.Env...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	return cmd
}

// failure is nil if err is.
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
