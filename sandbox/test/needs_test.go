// SPDX-License-Identifier: Apache-2.0

package test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/trellis-network/trellis/sandbox/internal/memory"
	"github.com/trellis-network/trellis/sandbox/internal/needs"
)

// TestASandboxTakesNoMoreThanPlanned measures a sandbox with two real nodes that run pods, and
// prints what it takes.
func TestASandboxTakesNoMoreThanPlanned(t *testing.T) {
	programs := needsRealNodes(t)
	dir, before := t.TempDir(), look(t)
	s := up(t, "--dir", dir, "--shoot=garden-dev/one", "--nodes=real:2", "--node-programs", programs)
	s.bridgeNetwork(t)
	shoot := s.Shoots[0].Kubeconfig
	if out, err := s.apply(shoot, echo, "apply", "-f", "-"); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	s.must(t, shoot, "-n", "kube-system", "rollout", "status", "daemonset/kube-proxy", "deployment/coredns", "--timeout=120s")
	s.must(t, shoot, "rollout", "status", "daemonset/echo", "--timeout=60s")

	var pids []int
	inotify := map[bool]int{} // by whether the process is on a node
	own, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		t.Fatal(err)
	}
	for _, each := range without(descendants(), before.processes) {
		text, _, _ := strings.Cut(each, ": ")
		pid, err := strconv.Atoi(text)
		if err != nil {
			t.Fatal(err)
		}
		pids = append(pids, pid)
		namespace, _ := os.Readlink("/proc/" + text + "/ns/pid")
		inotify[namespace != own] += instances("/proc/" + text + "/fd")
	}
	clusters := needs.Counts{Sandboxes: 1, Shoots: 1}
	all := needs.Counts{Sandboxes: 1, Shoots: 1, RealNodes: 2, Importers: 1}
	for _, each := range []struct {
		what        string
		is, planned int
	}{
		{"MiB of memory", memory.UsedMiB(pids), all.Amount().MemoryMiB},
		{"MiB on disk", diskMiB(t, dir), all.Amount().DiskMiB},
		{"instances of inotify of the clusters", inotify[false], clusters.Amount().Inotify},
		{"instances of inotify of the nodes", inotify[true], all.Amount().Inotify - clusters.Amount().Inotify},
	} {
		t.Logf("%d %s, planned are %d", each.is, each.what, each.planned)
		if each.is == 0 || each.is > each.planned {
			t.Errorf("%d %s, planned are %d", each.is, each.what, each.planned)
		}
	}
}

// instances counts the instances of inotify among the open files of a process.
func instances(directory string) (count int) {
	links, _ := filepath.Glob(directory + "/*")
	for _, link := range links {
		if file, _ := os.Readlink(link); file == "anon_inode:inotify" {
			count++
		}
	}
	return count
}

// diskMiB is the space that files take, each once, however many links it has.
func diskMiB(t *testing.T, dir string) int {
	t.Helper()
	blocks, seen := int64(0), map[uint64]bool{}
	err := filepath.WalkDir(dir, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil {
			return nil // it has gone meanwhile
		}
		info, err := entry.Info()
		if err != nil {
			return nil
		}
		if stat := info.Sys().(*syscall.Stat_t); !seen[stat.Ino] {
			seen[stat.Ino] = true
			blocks += stat.Blocks
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return int(blocks * 512 >> 20)
}
