// SPDX-License-Identifier: Apache-2.0

// Command cilium builds Cilium's agents from the Go module of the version in plugins/cilium/images.yaml, puts them into
// images with the names there, and prints the directory with the archives. What is built already it takes from the
// user's cache. It runs in the root of a checkout of Trellis, as root, since real nodes need that:
//
//	go run ./test/realagents/cilium
//
// It first checks what the machine needs. If anything is missing it names that and builds nothing. With -check it builds
// nothing anyway.
//
// The image of cilium-envoy has no Envoy, which is no Go: stand-in answers its health checks, so that agents run, and
// whatever needs Envoy does not work.
package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"syscall"

	"github.com/trellis-network/trellis/test/realagents/build"
)

const (
	imagesFile   = "plugins/cilium/images.yaml"
	packagesFile = "test/realagents/cilium/debian-packages"
	module       = "github.com/cilium/cilium"
)

// kernelParts are what agents need of the kernel.
var kernelParts = []build.KernelPart{
	{Name: "veth", Try: "ip link add x type veth peer name y"},
	{Name: "ip_set", Try: "ipset create x hash:net"},
	{Name: "xt_mark and xt_comment", Try: "iptables-nft -A OUTPUT -m comment --comment x -j MARK --set-mark 1"},
	{Name: "eBPF's file system", Try: "grep -w bpf /proc/filesystems"},
}

var agents = build.Agents{Name: "real Cilium", Cache: "cilium-agents"}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	onlyCheck := flag.Bool("check", false, "say what is missing, and build nothing")
	flag.Parse()
	dir, err := run(ctx, *onlyCheck)
	if err != nil {
		fmt.Fprintf(os.Stderr, "real Cilium: %v\n", err)
		os.Exit(1)
	}
	if dir != "" {
		fmt.Println(dir)
	}
}

func run(ctx context.Context, onlyCheck bool) (dir string, err error) {
	tags, err := build.ReadTags(imagesFile)
	if err != nil {
		return "", err
	}
	if err := build.CheckMachine(packagesFile, kernelParts); err != nil || onlyCheck {
		return "", err
	}
	b := &builder{tags: tags}
	if dir, err = b.dir(); err != nil {
		return "", err
	}
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	if err := b.download(ctx); err != nil {
		return "", err
	}
	return dir, agents.Publish(ctx, dir, func(work string) ([]build.Step, error) {
		b.work = work
		return b.steps(), nil
	}, b.writeImages)
}

// builder builds agents from a module.
type builder struct {
	tags map[string]build.Image
	// module is the directory with the module's files, and work where it builds.
	module, work string
}

// dir is where the archives are, whose name has all that determines what is built: the images' names, the versions of
// packages, and this program.
func (b *builder) dir() (string, error) {
	root, err := agents.Root()
	if err != nil {
		return "", err
	}
	_, versions, err := build.Packages(packagesFile)
	if err != nil {
		return "", err
	}
	own, err := os.Executable()
	if err != nil {
		return "", err
	}
	sum := sha256.New()
	fmt.Fprintln(sum, runtime.GOARCH, b.tags, versions)
	if err := build.AddFile(sum, own); err != nil {
		return "", err
	}
	return filepath.Join(root, b.tags["cilium-agent"].Tag+"-"+hex.EncodeToString(sum.Sum(nil))[:16]), nil
}

// download has Go download the module, which it compares with the checksum that all users of the module get.
func (b *builder) download(ctx context.Context) error {
	version := module + "@" + b.tags["cilium-agent"].Tag
	fmt.Fprintf(os.Stderr, "real Cilium: download %s\n", version)
	output, err := exec.CommandContext(ctx, "go", "mod", "download", "-json", version).Output()
	var downloaded struct{ Dir, Error string }
	if decoded := json.Unmarshal(output, &downloaded); err == nil {
		err = decoded
	}
	if err != nil {
		return fmt.Errorf("download %s: %w: %s", version, err, downloaded.Error)
	}
	b.module = downloaded.Dir
	return nil
}

func (b *builder) in(parts ...string) string {
	return filepath.Join(append([]string{b.work}, parts...)...)
}

// steps are all commands. The module is built in a copy, where Go may add to its list of checksums.
func (b *builder) steps() []build.Step {
	env := []string{"CGO_ENABLED=0", "GOWORK=off", "GOFLAGS=-mod=mod"}
	compile := func(name string, packages ...string) build.Step {
		return build.Step{Name: "compile " + name, Dir: b.in("cilium"), Env: env, Command: append([]string{
			"go", "build", "-buildvcs=false", "-o", b.in("programs") + "/",
			"-ldflags=-s -w -X " + module + "/pkg/version.ciliumVersion=" + b.tags["cilium-agent"].Tag[1:],
		}, packages...)}
	}
	return []build.Step{
		{Name: "copy the module", Dir: b.work, Command: []string{"sh", "-c", `cp -r "$1" cilium && chmod -R u+w cilium && mkdir programs`, "sh", b.module}},
		compile("cilium-agent, which takes minutes", "./daemon"),
		compile("cilium-operator", "./operator"),
		compile("the CNI plugin and tools", "./plugins/cilium-cni", "./cilium-dbg", "./cilium-health", "./cilium-health/responder", "./tools/mount", "./tools/sysctlfix"),
		{Name: "compile what stands in for Envoy", Env: env[:1], Command: []string{"go", "build", "-trimpath", "-o", b.in("stand-in"), "./test/realagents/cilium/stand-in"}},
		build.Archiver(b.in("image-archive")),
	}
}
