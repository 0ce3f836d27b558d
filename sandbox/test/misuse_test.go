// SPDX-License-Identifier: Apache-2.0

package test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// misused runs `up` with two real nodes as the wrapper's arguments say, and checks that it
// ends with exit status 2 before it has started anything, and that its error has all words.
func misused(t *testing.T, dir string, words []string, wrapper ...string) {
	t.Helper()
	line := append(wrapper, program(t), "up", "--dir", dir, "--shoot=garden-dev/one", "--nodes=real:2", "--node-programs", realNodes(t).Dir)
	cmd := exec.Command(line[0], line[1:]...)
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	_ = cmd.Run() // its exit status tells
	if status := cmd.ProcessState.ExitCode(); status != 2 || stdout.String() != "" || strings.Contains(stderr.String(), "etcd") {
		t.Errorf("exit status %d, output %q\n%s", status, &stdout, &stderr)
	}
	for _, word := range words {
		if !strings.Contains(stderr.String(), word) {
			t.Errorf("%q does not have %q", &stderr, word)
		}
	}
}

func TestADiskThatIsTooSmallForRealNodesIsNamed(t *testing.T) {
	needsRealNodes(t)
	dir := t.TempDir()
	misused(t, dir, []string{"MiB are free in " + dir, "this sandbox takes about", "--dir"},
		"unshare", "--mount", "sh", "-c", `mount -t tmpfs -o size=200m none "$0" && exec "$@"`, dir)
}

func TestADirectoryOnAnOverlayIsRefused(t *testing.T) {
	needsRealNodes(t)
	dir := t.TempDir()
	misused(t, dir, []string{dir + " is on an overlay", "--dir"},
		"unshare", "--mount", "sh", "-c", `mkdir "$0-upper" "$0-work" && mount -t overlay -o "lowerdir=/usr,upperdir=$0-upper,workdir=$0-work" none "$0" && mkdir "$0/empty" && mount --bind "$0/empty" "$0" && exec "$@"`, dir)
}

// TestAKilledStartLeavesNothing kills the supervisor while images are imported, starts another
// sandbox in its directory beside one that runs, and sees the cgroups gone.
func TestAKilledStartLeavesNothing(t *testing.T) {
	needsRealNodes(t)
	dir := filepath.Join(t.TempDir(), "sandbox")
	args := []string{"--dir", dir, "--shoot=garden-dev/one", "--nodes=real:1", "--node-programs", realNodes(t).Dir}
	s := start(t, args...)
	eventuallyWithin(t, time.Minute, "API server", func() bool { return !missing(filepath.Join(dir, "logs", "seed", "kube-apiserver.log")) })
	misused(t, dir, []string{"in use by the sandbox with process id", "trellis-sandbox down --dir " + dir})

	importer := filepath.Join(dir, "logs", "shoots", "garden-dev", "one", "importer", "containerd.log")
	eventuallyWithin(t, time.Minute, "import of images", func() bool { info, err := os.Stat(importer); return err == nil && info.Size() > 0 })
	pid := s.cmd.Process.Pid
	pids := processes(t, dir, pid)
	if len(pids) < minimum+3 {
		t.Errorf("there are only the processes %v", pids)
	}
	s.stop(t, syscall.SIGKILL)
	gone(t, pids)
	if status, _, stderr := run(t, "down", "--dir", dir); status != 0 {
		t.Errorf("down: exit status %d\n%s", status, stderr)
	}
	noCgroups(t, pid)
	if status, _, stderr := run(t, "node", "list", "--dir", dir); status != 2 || !strings.Contains(stderr, "no sandbox runs in "+dir) {
		t.Errorf("node list: exit status %d\n%s", status, stderr)
	}

	again := up(t, args...)
	again.must(t, again.Shoots[0].Kubeconfig, "get", "node", "node-1")
}
