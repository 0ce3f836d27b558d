// SPDX-License-Identifier: Apache-2.0

package test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// machine is what was on the machine at some time that sandboxes could leave behind. It compares as
// test/remnants of the root module does, which this module cannot import: what else runs on the
// machine may come and go, but for named network namespaces and mounts.
type machine struct{ processes, namespaces, mounts, cgroups []string }

// look looks at the machine. From then on processes whose parent ends become children of this one.
func look(t *testing.T) machine {
	t.Helper()
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		t.Fatal(err)
	}
	namespaces, err := filepath.Glob("/run/netns/*")
	if err != nil {
		t.Fatal(err)
	}
	mounts, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		t.Fatal(err)
	}
	return machine{descendants(), namespaces, strings.Split(string(mounts), "\n"), abandonedCgroups()}
}

// nothingSince waits until nothing is left that was not there before, and fails the test if
// something stays.
func nothingSince(t *testing.T, before machine) {
	t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
		after, left := look(t), []string{}
		for _, each := range []struct {
			kind       string
			before, is []string
		}{
			{"process", before.processes, after.processes}, {"network namespace", before.namespaces, after.namespaces},
			{"mount", before.mounts, after.mounts}, {"cgroup", before.cgroups, after.cgroups},
		} {
			for _, one := range without(each.is, each.before) {
				left = append(left, each.kind+" "+one)
			}
		}
		if len(left) == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Errorf("left behind:\n%s", strings.Join(left, "\n"))
			return
		}
	}
}

// without returns those that are not among others.
func without(all, others []string) []string {
	return slices.DeleteFunc(slices.Clone(all), func(one string) bool { return slices.Contains(others, one) })
}

// abandonedCgroups are those of sandboxes whose supervisor does not run.
func abandonedCgroups() (found []string) {
	// A cgroup may vanish while it is read.
	_ = filepath.WalkDir("/sys/fs/cgroup", func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return nil
		}
		rest, ours := strings.CutPrefix(entry.Name(), "trellis-sandbox-")
		if !ours {
			return nil
		}
		supervisor, _, _ := strings.Cut(rest, "-")
		if pid, err := strconv.Atoi(supervisor); err == nil && !alive(pid) {
			found = append(found, path)
		}
		return fs.SkipDir
	})
	return found
}

// descendants are the processes that run and that this one has started, or that one of these has,
// each with its command line.
func descendants() (found []string) {
	parents := map[int]int{}
	files, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, file := range files {
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		content, err := os.ReadFile(file)
		if err != nil {
			continue // it has ended
		}
		// After the program's name in parentheses: the state, and the parent (proc(5)).
		if fields := strings.Fields(string(content[bytes.LastIndexByte(content, ')')+1:])); len(fields) > 1 && fields[0] != "Z" {
			parents[pid], _ = strconv.Atoi(fields[1])
		}
	}
	for pid := range parents {
		for ancestor := parents[pid]; ancestor != 0; ancestor = parents[ancestor] {
			if ancestor == os.Getpid() {
				command, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
				found = append(found, fmt.Sprintf("%d: %s", pid, bytes.ReplaceAll(command, []byte{0}, []byte(" "))))
			}
		}
	}
	return found
}

// TestAKilledSupervisorLeavesNothing kills the supervisor of two running nodes, while they have
// processes, mounts and cgroups, and runs no other command of the sandbox. What nodes consist of
// ends with a pipe, and the guard of the cgroups removes these.
func TestAKilledSupervisorLeavesNothing(t *testing.T) {
	programs := needsRealNodes(t)
	dir, before := t.TempDir(), look(t)
	s := up(t, "--dir", dir, "--shoot=garden-dev/one", "--nodes=real:2", "--node-programs", programs)
	running := descendants()
	if len(cgroupsOf(t, s.PID)) == 0 || len(running)-len(before.processes) < minimum+8 {
		t.Errorf("the sandbox has the cgroups %q and the processes %q, so this shows little", cgroupsOf(t, s.PID), running)
	}
	killed := time.Now()
	s.stop(t, syscall.SIGKILL)
	nothingSince(t, before)
	t.Logf("%d processes and all that they had were gone after %.1f s", len(running)-len(before.processes), time.Since(killed).Seconds())
}

// TestAKilledGuardEndsTheSandbox kills the process that would remove the cgroups.
func TestAKilledGuardEndsTheSandbox(t *testing.T) {
	programs := needsRealNodes(t)
	dir, before := t.TempDir(), look(t)
	s := up(t, "--dir", dir, "--shoot=garden-dev/one", "--nodes=real:1", "--node-programs", programs)
	for _, each := range descendants() {
		pid, command, _ := strings.Cut(each, ": ")
		if number, err := strconv.Atoi(pid); err == nil && strings.Contains(command, fmt.Sprintf("/trellis-sandbox-%d-", s.PID)) {
			_ = syscall.Kill(number, syscall.SIGKILL)
		}
	}
	s.endsWith(t, "the process that guards the cgroups has ended: signal: killed")
	nothingSince(t, before)
}

// noCgroups checks that a sandbox that has ended has no cgroups. The kernel removes only those
// without processes, and with a node's processes end its namespaces and mounts.
func noCgroups(t *testing.T, pid int) {
	t.Helper()
	if left := cgroupsOf(t, pid); len(left) > 0 {
		t.Errorf("cgroups are left: %q", left)
	}
}

// cgroupsOf are the topmost cgroups of a sandbox.
func cgroupsOf(t *testing.T, pid int) (found []string) {
	t.Helper()
	err := filepath.WalkDir("/sys/fs/cgroup", func(path string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err == nil && strings.HasPrefix(entry.Name(), fmt.Sprintf("trellis-sandbox-%d-", pid)) {
			found = append(found, path)
			return fs.SkipDir
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}
