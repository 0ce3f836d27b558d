// SPDX-License-Identifier: Apache-2.0

package test

import (
	"bytes"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// check runs the command check as a wrapper's arguments say, and returns its exit status and what
// it wrote.
func check(t *testing.T, wrapper ...string) (status int, wrote string) {
	t.Helper()
	line := append(wrapper, program(t), "check")
	cmd := exec.Command(line[0], line[1:]...)
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	_ = cmd.Run() // its exit status tells
	return cmd.ProcessState.ExitCode(), output.String()
}

// cannot checks that real nodes are refused in one line that has all the words.
func cannot(t *testing.T, words []string, wrapper ...string) {
	t.Helper()
	status, wrote := check(t, wrapper...)
	if status != 2 || strings.Count(wrote, "\n") != 1 {
		t.Errorf("exit status %d, and not one line:\n%s", status, wrote)
	}
	for _, word := range words {
		if !strings.Contains(wrote, word) {
			t.Errorf("%q does not have %q", wrote, word)
		}
	}
}

// needsRights skips the test on a machine that cannot run real nodes.
func needsRights(t *testing.T) {
	t.Helper()
	needsTools(t)
	if output, err := exec.Command("unshare", "--mount", "--net", "mount", "--make-rprivate", "/").CombinedOutput(); err != nil {
		t.Skipf("root may not make namespaces and mounts here: %v: %s", err, output)
	}
}

func TestWhereRealNodesRunCheckSucceedsAndLeavesNothing(t *testing.T) {
	needsRights(t)
	before := leftBehind(t)
	if status, wrote := check(t); status != 0 || wrote != "" {
		t.Errorf("exit status %d\n%s", status, wrote)
	}
	if after := leftBehind(t); after != before {
		t.Errorf("left behind:\n%+v\nbefore:\n%+v", after, before)
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
		"no cgroups": {[]string{"no cgroups are mounted"}, []string{"unshare", "--mount", "sh", "-c", `umount -R /sys/fs/cgroup; exec "$@"`, "-"}},
	} {
		t.Run(name, func(t *testing.T) { cannot(t, test.words, test.wrapper...) })
	}
}
