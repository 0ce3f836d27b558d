// SPDX-License-Identifier: Apache-2.0

package test

import (
	"bytes"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/trellis-network/trellis/sandbox/internal/memory"
	"github.com/trellis-network/trellis/sandbox/internal/needs"
)

// checked is how a run of the command check has ended.
type checked struct {
	pid, status int
	wrote       string
}

// check runs the command check as a wrapper's arguments say, with a directory for temporary files.
func check(t *testing.T, temporary string, wrapper ...string) checked {
	t.Helper()
	line := append(wrapper, program(t), "check")
	cmd := exec.Command(line[0], line[1:]...)
	cmd.Env = append(os.Environ(), "TMPDIR="+temporary)
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	_ = cmd.Run() // its exit status tells
	return checked{cmd.ProcessState.Pid(), cmd.ProcessState.ExitCode(), output.String()}
}

// cannot checks that real nodes are refused in one line that has all the words.
func cannot(t *testing.T, words []string, wrapper ...string) {
	t.Helper()
	got := check(t, t.TempDir(), wrapper...)
	if got.status != 2 || strings.Count(got.wrote, "\n") != 1 {
		t.Errorf("exit status %d, and not one line:\n%s", got.status, got.wrote)
	}
	for _, word := range words {
		if !strings.Contains(got.wrote, word) {
			t.Errorf("%q does not have %q", got.wrote, word)
		}
	}
}

// needsRights skips the test on a machine that cannot run real nodes. It does not ask the command
// check.
func needsRights(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("real nodes need root")
	}
	for _, tool := range []string{"runc", "nft", "unshare", "setpriv"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("the test needs the program %s", tool)
		}
	}
	if output, err := exec.Command("unshare", "--mount", "--net", "mount", "--make-rprivate", "/").CombinedOutput(); err != nil {
		t.Skipf("root may not make namespaces and mounts here: %v: %s", err, output)
	}
}

func TestWhereRealNodesRunCheckSucceedsAndLeavesNothing(t *testing.T) {
	needsRights(t)
	temporary, before := t.TempDir(), look(t)
	got := check(t, temporary)
	if got.status != 0 || got.wrote != "" {
		t.Errorf("exit status %d\n%s", got.status, got.wrote)
	}
	noCgroups(t, got.pid)
	nothingSince(t, before)
	if files, err := os.ReadDir(temporary); err != nil || len(files) > 0 {
		t.Errorf("left behind: %v, %v", files, err)
	}
}

func TestCheckSaysWhyRealNodesCannotRun(t *testing.T) {
	if os.Geteuid() != 0 {
		cannot(t, []string{"need root"}, "env")
		t.Skip("the other reasons are those of root")
	}
	cannot(t, []string{"missing: runc, nft"}, "env", "PATH=/nowhere")
	needsRights(t)
	for name, test := range map[string]struct {
		words   []string
		wrapper []string
	}{
		"a container without privileges": {[]string{"does not allow", "operation not permitted"}, []string{"setpriv", "--bounding-set=-sys_admin"}},
		"cgroups that cannot be written": {[]string{"cgroup", "read-only file system"}, []string{"unshare", "--mount", "sh", "-c",
			`grep -oE ' /sys/fs/cgroup[^ ]*' /proc/self/mounts | tac | while read -r each; do mount -o remount,bind,ro "$each"; done; exec "$@"`, "-"}},
		"a small disk": {[]string{"MiB are free in /mnt", "this takes about", "real nodes: 1"}, []string{"unshare", "--mount", "sh", "-c",
			`mount -t tmpfs -o size=200m none /mnt; export TMPDIR=/mnt; exec "$@"`, "-"}},
		"no cgroups": {[]string{"no cgroups are mounted"}, []string{"unshare", "--mount", "sh", "-c", `umount -R /sys/fs/cgroup; exec "$@"`, "-"}},
	} {
		t.Run(name, func(t *testing.T) { cannot(t, test.words, test.wrapper...) })
	}
}

// The planned sandboxes must fit beside each other, whatever a single one takes.
func TestCheckAsksForWhatThePlannedSandboxesTakeTogether(t *testing.T) {
	needsRights(t)
	content, err := os.ReadFile("/proc/sys/fs/inotify/max_user_instances")
	if err != nil {
		t.Fatal(err)
	}
	instances, err := strconv.Atoi(strings.TrimSpace(string(content)))
	if err != nil {
		t.Fatal(err)
	}
	available, _ := memory.AvailableMiB()
	tooManyForInotify := instances/needs.OfRealNode.Inotify + 1
	tooManyForMemory := available/needs.OfRealNode.MemoryMiB + 10
	for _, test := range []struct {
		args  []string
		words []string
	}{
		{[]string{"--real-nodes", strconv.Itoa(tooManyForMemory)}, []string{"MiB of memory are available", "sandboxes: 1, shoots: 1, real nodes: " + strconv.Itoa(tooManyForMemory)}},
		{[]string{"--real-nodes", strconv.Itoa(tooManyForInotify), "--shoots", "2"}, []string{"instances of inotify are left", "shoots: 2", "max_user_instances"}},
		{[]string{"--sandboxes", "0"}, []string{"--sandboxes, --shoots and --real-nodes are 1 at least"}},
	} {
		if counts := (needs.Counts{Sandboxes: 1, Shoots: 2, RealNodes: tooManyForInotify}); strings.Contains(test.words[0], "inotify") && counts.Amount().MemoryMiB > available {
			t.Logf("this machine has too little memory to lack inotify first: %v", test.args)
			continue
		}
		status, stdout, stderr := run(t, append([]string{"check"}, test.args...)...)
		if status != 2 || stdout != "" || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%q: exit status %d, output %q, and not one line:\n%s", test.args, status, stdout, stderr)
		}
		for _, word := range test.words {
			if !strings.Contains(stderr, word) {
				t.Errorf("%q: %q does not have %q", test.args, stderr, word)
			}
		}
	}
}
