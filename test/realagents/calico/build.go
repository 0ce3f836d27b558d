// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/trellis-network/trellis/test/sandbox"
)

// build builds agents from checkouts.
type build struct {
	from map[string]checkout
	tags map[string]image
	// work is where it builds, and programs the programs of real nodes.
	work, programs string
}

// asRoot is built like the checkouts.
//
//go:embed as-root/main.c
var asRoot []byte

// key is a hash of all that determines what is built: the commits, the images' names, the
// versions of packages, the programs of real nodes, and this program.
func (b *build) key() (string, error) {
	programs, err := sandbox.NodePrograms()
	if err != nil {
		return "", err
	}
	b.programs = programs
	sum := sha256.New()
	fmt.Fprintln(sum, runtime.GOARCH, filepath.Base(programs), b.tags, asRoot)
	for _, name := range slices.Sorted(maps.Keys(b.from)) {
		fmt.Fprintln(sum, name, b.from[name].commit)
	}
	_, versions, err := packages()
	if err != nil {
		return "", err
	}
	fmt.Fprintln(sum, versions)
	own, err := os.Executable()
	if err != nil {
		return "", err
	}
	content, err := os.Open(own)
	if err != nil {
		return "", err
	}
	defer content.Close()
	if _, err := io.Copy(sum, content); err != nil {
		return "", err
	}
	return hex.EncodeToString(sum.Sum(nil))[:16], nil
}

// publish builds beside dir, and renames the result into place. Then it removes what other
// versions have left. It does nothing if another process has built dir while it waited for that.
func (b *build) publish(ctx context.Context, root, dir string) error {
	lock, err := os.Create(filepath.Join(root, "lock"))
	if err != nil {
		return err
	}
	defer lock.Close() // this unlocks it
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return err
	}
	if _, err := os.Stat(dir); err == nil {
		return nil
	}
	// Go's cache knows again what it has compiled, since cgo's flags have the same paths each time.
	b.work = filepath.Join(root, "build")
	defer os.RemoveAll(b.work)
	if err := errors.Join(os.RemoveAll(b.work), os.Mkdir(b.work, 0o755)); err != nil {
		return err
	}
	steps, err := b.steps()
	if err != nil {
		return err
	}
	began := time.Now()
	for _, step := range steps {
		fmt.Fprintf(os.Stderr, "real Calico: [%s] %s\n", time.Since(began).Round(time.Second), step.name)
		if err := step.run(ctx); err != nil {
			return fmt.Errorf("%s: %w", step.name, err)
		}
	}
	ready := filepath.Join(b.work, "images")
	if err := b.writeImages(ctx, ready); err != nil {
		return err
	}
	if err := os.Rename(ready, dir); err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "real Calico: [%s] built\n", time.Since(began).Round(time.Second))
	return prune(root, dir)
}

// prune removes all results but this one.
func prune(root, dir string) error {
	all, err := filepath.Glob(filepath.Join(root, "v*"))
	for _, each := range all {
		if each != dir && err == nil {
			err = os.RemoveAll(each)
		}
	}
	return err
}

// step is one command of a build.
type step struct {
	name, dir string
	env       []string
	command   []string
}

func (s step) run(ctx context.Context) error {
	cmd := exec.CommandContext(ctx, s.command[0], s.command[1:]...)
	cmd.Dir, cmd.Env = s.dir, append(os.Environ(), s.env...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	if err := cmd.Run(); err != nil {
		lines := strings.Split(strings.TrimSpace(output.String()), "\n")
		const last = 30
		return fmt.Errorf("%s: %w\n%s", strings.Join(s.command, " "), err, strings.Join(lines[max(0, len(lines)-last):], "\n"))
	}
	return nil
}

// machines are the names of this machine's architecture in BIRD's script, and for the C
// preprocessor, which knows none when it compiles eBPF.
var machines = map[string]struct{ name, defined string }{
	"amd64": {"x86_64", "-D__x86_64__"},
	"arm64": {"aarch64", "-D__aarch64__"},
}

// in is a path in the working directory.
func (b *build) in(parts ...string) string {
	return filepath.Join(append([]string{b.work}, parts...)...)
}

// steps are all commands. C sources are built in copies of the checkouts, by their own scripts,
// Go sources where they are, with the version of Go that Calico is released with.
func (b *build) steps() ([]step, error) {
	versions, err := metadata(b.from[calico].dir)
	if err != nil {
		return nil, err
	}
	machine, known := machines[runtime.GOARCH]
	if !known {
		return nil, fmt.Errorf("agents are built on amd64 and arm64, and this is %s", runtime.GOARCH)
	}
	var all []step
	export := func(source, to string, paths ...string) {
		script := `mkdir -p "$2" && to=$2 && cd "$1" && shift 2 && git archive HEAD "$@" | tar -x -C "$to"`
		all = append(all, step{
			name: "copy " + source, dir: b.work,
			command: append([]string{"sh", "-c", script, "sh", b.from[source].dir, b.in(to)}, paths...),
		})
	}
	export(libbpf, "felix/bpf-gpl/libbpf")
	export(calico, ".", "felix/bpf-gpl", "felix/bpf-apache")
	export(bird, "bird")
	headers := b.in("libbpf", "usr", "include")
	all = append(all,
		step{
			name: "libbpf", dir: b.in("felix/bpf-gpl/libbpf/src"),
			command: []string{"make", "BUILD_STATIC_ONLY=1", "OBJDIR=" + b.in("libbpf"), "DESTDIR=" + b.in("libbpf"), "install"},
		},
		step{
			name: "BIRD, for IPv4 and for IPv6", dir: b.in("bird"),
			env:     []string{"ARCH=" + machine.name, "DIST=" + b.in("bird-programs"), "OBJ=" + b.in("bird-objects")},
			command: []string{"./create_binaries.sh"},
		},
	)
	for _, part := range []string{"bpf-apache", "bpf-gpl"} {
		all = append(all, step{
			name: "eBPF programs, " + part, dir: b.in("felix", part),
			env:     []string{"CFLAGS=" + machine.defined + " -I" + headers},
			command: []string{"make", fmt.Sprintf("-j%d", runtime.NumCPU()), "all"},
		})
	}
	golang := []string{"GOTOOLCHAIN=go" + versions["GO_VERSION"], "GOWORK=off"}
	cgo := []string{
		"CGO_ENABLED=1", "CGO_LDFLAGS=-L" + b.in("libbpf") + " -lbpf -lelf -lz",
		"CGO_CFLAGS=-I" + headers + " -I" + b.in("felix/bpf-gpl/libbpf/include/uapi") + " -I" + b.in("felix/bpf-gpl/libbpf/src") + " -I" + b.in("felix/bpf-gpl"),
	}
	static := []string{"CGO_ENABLED=0"}
	all = append(all, step{
		name: "what starts iptables as root", dir: "test/realcalico/agents",
		command: []string{"gcc", "-static", "-O1", "-o", b.in("as-root"), "as-root/main.c"},
	})
	compile := func(name, source string, env []string, packages ...string) {
		all = append(all, step{
			name: "compile " + name, dir: b.from[source].dir, env: env,
			command: slices.Concat([]string{
				"go", "build", "-buildvcs=false", "-trimpath", "-tags=netgo,osusergo", "-ldflags=-s -w", "-o", b.in("programs") + "/",
			}, packages),
		})
	}
	compile("calico-node, which takes minutes", calico, slices.Concat(golang, cgo), "./node/cmd/calico-node")
	compile("what mounts for eBPF", calico, slices.Concat(golang, []string{"CGO_ENABLED=1"}), "./node/cmd/mountns")
	compile("the CNI plugin", calico, slices.Concat(golang, static), "./cni-plugin/cmd/calico", "./cni-plugin/cmd/install")
	compile("kube-controllers", calico, slices.Concat(golang, static),
		"./kube-controllers/cmd/kube-controllers", "./kube-controllers/cmd/check-status", "./kube-controllers/cmd/wrapper")
	compile("Typha", calico, slices.Concat(golang, static), "./typha/cmd/calico-typha")
	for source, program := range map[string]string{
		autoscaler: "./cmd/cluster-proportional-autoscaler", verticalAutoscaler: "./cmd/cpvpa",
	} {
		if b.from[source].dir != "" {
			compile(source, source, append(static, "GOWORK=off"), program)
		}
	}
	return append(all, step{
		name: "compile what writes images", dir: "sandbox", env: append(static, "GOWORK=off"),
		command: []string{"go", "build", "-buildvcs=false", "-trimpath", "-ldflags=-s -w", "-o", b.in("image-archive"), "./cmd/image-archive"},
	}), nil
}
