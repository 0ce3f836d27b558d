// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/trellis-network/trellis/test/realagents/build"
)

// isCommand makes this process the command, so that tests run just what users run.
const isCommand = "TRELLIS_TEST_IS_AGENTS"

func TestMain(m *testing.M) {
	if os.Getenv(isCommand) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// machineWith is a directory of programs that stand for those of a machine: all packages are
// installed, and every command succeeds, but those of other contents.
func machineWith(t *testing.T, others map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	programs := map[string]string{
		"dpkg-query": `shift 3; for package; do echo "$package installed 1"; done`, "ip": "", "ipset": "", "iptables-nft": "", "ip6tables-nft": "",
	}
	for name, content := range others {
		programs[name] = content
	}
	for name, content := range programs {
		if content == "none" {
			continue
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+content+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, real := range []string{"git", "sh"} {
		program, err := exec.LookPath(real)
		if err != nil {
			t.Skip(err)
		}
		if err := os.Symlink(program, filepath.Join(dir, real)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// notRoot makes root another user who may read the same files.
var notRoot = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER, UidMappings: []syscall.SysProcIDMap{{ContainerID: 65534, HostID: 0, Size: 1}}}

// stops runs the command on such a machine, as root or as another user. It returns what the command
// says, which must have failed and must have built nothing.
func stops(t *testing.T, machine string, asRoot bool, args ...string) string {
	t.Helper()
	g := NewWithT(t)
	program, err := os.Executable()
	g.Expect(err).NotTo(HaveOccurred())
	cache := t.TempDir()
	command := exec.Command(program, args...)
	command.Dir = filepath.Join("..", "..", "..")
	command.Env = append(os.Environ(), isCommand+"=true", "PATH="+machine, "TRELLIS_CACHE="+cache)
	if !asRoot && os.Geteuid() == 0 {
		command.SysProcAttr = notRoot
		needNamespaces(t, notRoot)
	}
	var stdout, stderr strings.Builder
	command.Stdout, command.Stderr = &stdout, &stderr
	g.Expect(command.Run()).To(MatchError("exit status 1"), stderr.String())
	g.Expect(stdout.String()).To(BeEmpty(), "no directory of archives")
	left, err := os.ReadDir(cache)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(left).To(BeEmpty())
	return stderr.String()
}

// allSources are checkouts at the tags that Trellis renders.
func allSources(t *testing.T) {
	t.Helper()
	images, err := build.ReadTags(filepath.Join("..", "..", "..", imagesFile))
	if err != nil {
		t.Fatal(err)
	}
	dir := repository(t, images["calico-node"].Tag)
	use(t, map[string]string{calico: dir, bird: dir, libbpf: dir})
}

func needRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("parts of the kernel are tried as root only")
	}
	needNamespaces(t, &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET})
}

func needNamespaces(t *testing.T, attributes *syscall.SysProcAttr) {
	t.Helper()
	try := exec.Command("true")
	try.SysProcAttr = attributes
	if err := try.Run(); err != nil {
		t.Skipf("no such namespace can be made here: %v", err)
	}
}

func TestWithoutSourcesItStops(t *testing.T) {
	use(t, nil)
	for _, args := range [][]string{nil, {"-check"}} {
		NewWithT(t).Expect(stops(t, machineWith(t, nil), true, args...)).To(And(
			ContainSubstring("CALICO_SRC is missing"), ContainSubstring("BIRD_SRC is missing"), ContainSubstring("LIBBPF_SRC is missing")))
	}
}

func TestWithoutRootItStops(t *testing.T) {
	allSources(t)
	NewWithT(t).Expect(stops(t, machineWith(t, nil), false)).To(ContainSubstring("real nodes need root: run this as root"))
}

func TestWithoutDebianItStops(t *testing.T) {
	allSources(t)
	NewWithT(t).Expect(stops(t, machineWith(t, map[string]string{"dpkg-query": "none"}), true)).To(ContainSubstring("this is no Debian"))
}

func TestWithoutToolsItStops(t *testing.T) {
	allSources(t)
	NewWithT(t).Expect(stops(t, machineWith(t, map[string]string{"dpkg-query": "exit 1"}), true)).To(
		MatchRegexp(`tools are missing: apt-get install --no-install-recommends autoconf .*clang .*zlib1g-dev`))
}

func TestWithoutPartsOfTheKernelItStops(t *testing.T) {
	needRoot(t)
	allSources(t)
	said := stops(t, machineWith(t, map[string]string{
		"ip":    `case "$*" in *vxlan*) echo "RTNETLINK answers: Operation not supported"; exit 2;; esac`,
		"ipset": "exit 1",
	}), true)
	NewWithT(t).Expect(said).To(And(
		MatchRegexp(`the kernel lacks vxlan: .*: RTNETLINK answers: Operation not supported`),
		ContainSubstring("the kernel lacks ip_set:"), ContainSubstring("the kernel lacks nf_tables with xt_set:"),
		Not(ContainSubstring("the kernel lacks veth"))))
}

// Users are told all at once, before anything is built.
func TestAllThatIsMissingIsNamedAtOnce(t *testing.T) {
	use(t, nil)
	said := stops(t, machineWith(t, map[string]string{"dpkg-query": "exit 1"}), false)
	NewWithT(t).Expect(said).To(And(
		ContainSubstring("CALICO_SRC is missing"), ContainSubstring("tools are missing"), ContainSubstring("real nodes need root")))
}
