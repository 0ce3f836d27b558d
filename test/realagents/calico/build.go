// SPDX-License-Identifier: Apache-2.0

package main

import (
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"

	"github.com/trellis-network/trellis/test/realagents/build"
	"github.com/trellis-network/trellis/test/sandbox"
)

// builder builds agents from checkouts.
type builder struct {
	from map[string]checkout
	tags map[string]build.Image
	// work is where it builds, and programs the programs of real nodes.
	work, programs string
}

// asRoot is built like the checkouts.
//
//go:embed as-root/main.c
var asRoot []byte

// key is a hash of all that determines what is built: the commits, the images' names, the
// versions of packages, the programs of real nodes, and this program.
func (b *builder) key() (string, error) {
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
	_, versions, err := build.Packages(packagesFile)
	if err != nil {
		return "", err
	}
	fmt.Fprintln(sum, versions)
	own, err := os.Executable()
	if err != nil {
		return "", err
	}
	if err := build.AddFile(sum, own); err != nil {
		return "", err
	}
	return hex.EncodeToString(sum.Sum(nil))[:16], nil
}

// machines are the names of this machine's architecture in BIRD's script, and for the C
// preprocessor, which knows none when it compiles eBPF.
var machines = map[string]struct{ name, defined string }{
	"amd64": {"x86_64", "-D__x86_64__"},
	"arm64": {"aarch64", "-D__aarch64__"},
}

// in is a path in the working directory.
func (b *builder) in(parts ...string) string {
	return filepath.Join(append([]string{b.work}, parts...)...)
}

// steps are all commands. C sources are built in copies of the checkouts, by their own scripts,
// Go sources where they are, with the version of Go that Calico is released with.
func (b *builder) steps() ([]build.Step, error) {
	versions, err := metadata(b.from[calico].dir)
	if err != nil {
		return nil, err
	}
	machine, known := machines[runtime.GOARCH]
	if !known {
		return nil, fmt.Errorf("agents are built on amd64 and arm64, and this is %s", runtime.GOARCH)
	}
	var all []build.Step
	export := func(source, to string, paths ...string) {
		script := `mkdir -p "$2" && to=$2 && cd "$1" && shift 2 && git archive HEAD "$@" | tar -x -C "$to"`
		all = append(all, build.Step{
			Name: "copy " + source, Dir: b.work,
			Command: append([]string{"sh", "-c", script, "sh", b.from[source].dir, b.in(to)}, paths...),
		})
	}
	export(libbpf, "felix/bpf-gpl/libbpf")
	export(calico, ".", "felix/bpf-gpl", "felix/bpf-apache")
	export(bird, "bird")
	headers := b.in("libbpf", "usr", "include")
	all = append(all,
		build.Step{
			Name: "libbpf", Dir: b.in("felix/bpf-gpl/libbpf/src"),
			Command: []string{"make", "BUILD_STATIC_ONLY=1", "OBJDIR=" + b.in("libbpf"), "DESTDIR=" + b.in("libbpf"), "install"},
		},
		build.Step{
			Name: "BIRD, for IPv4 and for IPv6", Dir: b.in("bird"),
			Env:     []string{"ARCH=" + machine.name, "DIST=" + b.in("bird-programs"), "OBJ=" + b.in("bird-objects")},
			Command: []string{"./create_binaries.sh"},
		},
	)
	for _, part := range []string{"bpf-apache", "bpf-gpl"} {
		all = append(all, build.Step{
			Name: "eBPF programs, " + part, Dir: b.in("felix", part),
			Env:     []string{"CFLAGS=" + machine.defined + " -I" + headers},
			Command: []string{"make", fmt.Sprintf("-j%d", runtime.NumCPU()), "all"},
		})
	}
	golang := []string{"GOTOOLCHAIN=go" + versions["GO_VERSION"], "GOWORK=off"}
	cgo := []string{
		"CGO_ENABLED=1", "CGO_LDFLAGS=-L" + b.in("libbpf") + " -lbpf -lelf -lz",
		"CGO_CFLAGS=-I" + headers + " -I" + b.in("felix/bpf-gpl/libbpf/include/uapi") + " -I" + b.in("felix/bpf-gpl/libbpf/src") + " -I" + b.in("felix/bpf-gpl"),
	}
	static := []string{"CGO_ENABLED=0"}
	all = append(all, build.Step{
		Name: "what starts iptables as root", Dir: "test/realagents/calico",
		Command: []string{"gcc", "-static", "-O1", "-o", b.in("as-root"), "as-root/main.c"},
	})
	compile := func(name, source string, env []string, packages ...string) {
		all = append(all, build.Step{
			Name: "compile " + name, Dir: b.from[source].dir, Env: env,
			Command: slices.Concat([]string{
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
	return append(all, build.Archiver(b.in("image-archive"))), nil
}
