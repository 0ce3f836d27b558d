// SPDX-License-Identifier: Apache-2.0

package test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
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

// TestMisuseOfRealNodes checks that what the nodes do not allow ends with exit status 2 and an error,
// whatever the command, and changes no node.
func TestMisuseOfRealNodes(t *testing.T) {
	programs := needsRealNodes(t)
	s := up(t, "--dir", t.TempDir(), "--shoot=garden-dev/one", "--nodes=real:2", "--node-programs", programs)
	s.node(t, "kill", "node-2")
	state := func() (nodes struct{ Nodes json.RawMessage }) {
		if err := json.Unmarshal([]byte(s.node(t, "list")), &nodes); err != nil {
			t.Fatal(err)
		}
		return nodes
	}
	before := state()
	const unknown = `there is no node "node-3"; there are ["node-1" "node-2"`
	for name, test := range map[string]struct {
		args []string
		want string
	}{
		"exec on an unknown node":      {[]string{"exec", "node-3", "--", "true"}, unknown},
		"kill an unknown node":         {[]string{"kill", "node-3"}, unknown},
		"start an unknown node":        {[]string{"start", "node-3"}, unknown},
		"fault of an unknown node":     {[]string{"fault", "node-3", "--link-down"}, unknown},
		"partition of an unknown node": {[]string{"partition", "node-1", "node-3"}, unknown},
		"heal an unknown node":         {[]string{"heal", "node-3"}, unknown},
		"fault of a path":              {[]string{"fault", "node-1/../node-1", "--link-down"}, "there is no node"},
		"cut off from an unknown node": {[]string{"fault", "node-1", "--cut-off-from=node-3"}, "--cut-off-from node-3"},
		"cut off from itself":          {[]string{"fault", "node-1", "--cut-off-from=node-1"}, "--cut-off-from node-1"},
		"partition of all nodes":       {[]string{"partition", "node-1", "node-2"}, "leave out one of"},
		"exec on a node that is down":  {[]string{"exec", "node-2", "--", "true"}, "node-2 is down; start it"},
		"kill a node that is down":     {[]string{"kill", "node-2"}, "node-2 is down already"},
		"start a node that runs":       {[]string{"start", "node-1"}, "node-1 runs already"},
		"a shoot that is not there":    {[]string{"list", "--shoot=garden-dev/two"}, "garden-dev/two"},
	} {
		t.Run(name, func(t *testing.T) {
			status, stdout, stderr := run(t, append([]string{"node", "--dir", s.Dir}, test.args...)...)
			if status != 2 || stdout != "" || !strings.Contains(stderr, test.want) {
				t.Errorf("exit status %d, output %q, want %q in\n%s", status, stdout, test.want, stderr)
			}
		})
	}
	if after := state(); !bytes.Equal(after.Nodes, before.Nodes) {
		t.Errorf("the nodes were\n%s\nand are\n%s", before.Nodes, after.Nodes)
	}
}

func TestADiskThatIsTooSmallForRealNodesIsNamed(t *testing.T) {
	needsRealNodes(t)
	dir := t.TempDir()
	misused(t, dir, []string{"MiB are free in " + dir, "this takes about", "--dir"},
		"unshare", "--mount", "sh", "-c", `mount -t tmpfs -o size=200m none "$0" && exec "$@"`, dir)
}

func TestADirectoryOnAnOverlayIsRefused(t *testing.T) {
	needsRealNodes(t)
	dir := t.TempDir()
	misused(t, dir, []string{dir + " is on an overlay", "--dir"},
		"unshare", "--mount", "sh", "-c", `mkdir "$0-upper" "$0-work" && mount -t overlay -o "lowerdir=/usr,upperdir=$0-upper,workdir=$0-work" none "$0" && mkdir "$0/empty" && mount --bind "$0/empty" "$0" && exec "$@"`, dir)
}

// TestAKilledStartLeavesNothing kills the supervisor while images are imported, sees the cgroups
// gone, and starts another sandbox in its directory.
func TestAKilledStartLeavesNothing(t *testing.T) {
	needsRealNodes(t)
	dir := filepath.Join(t.TempDir(), "sandbox")
	args := []string{"--dir", dir, "--shoot=garden-dev/one", "--nodes=real:1", "--node-programs", realNodes(t).Dir}
	s := start(t, args...)
	eventually(t, "API server", func() bool { return !missing(filepath.Join(dir, "logs", "seed", "kube-apiserver.log")) })
	misused(t, dir, []string{"in use by the sandbox with process id", "trellis-sandbox down --dir " + dir})

	importer := filepath.Join(dir, "logs", "shoots", "garden-dev", "one", "importer", "containerd.log")
	eventually(t, "import of images", func() bool { info, err := os.Stat(importer); return err == nil && info.Size() > 0 })
	pid := s.cmd.Process.Pid
	pids := processes(t, dir, pid)
	if len(pids) < minimum+3 {
		t.Errorf("there are only the processes %v", pids)
	}
	s.stop(t, syscall.SIGKILL)
	gone(t, pids)
	eventually(t, "end of the cgroups", func() bool { return len(cgroupsOf(t, pid)) == 0 })
	if status, _, stderr := run(t, "node", "list", "--dir", dir); status != 2 || !strings.Contains(stderr, "no sandbox runs in "+dir) {
		t.Errorf("node list: exit status %d\n%s", status, stderr)
	}

	again := up(t, args...)
	again.must(t, again.Shoots[0].Kubeconfig, "get", "node", "node-1")
}
