// SPDX-License-Identifier: Apache-2.0

package test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// minimum is the number of processes of a sandbox without shoots: the supervisor,
// etcd, the API server and the controller-manager.
const minimum = 4

func (s *sandbox) processes(t *testing.T) []int {
	t.Helper()
	pids := processes(t, s.Dir, s.PID)
	if len(pids) < minimum {
		t.Fatalf("found the processes %v, want at least %d", pids, minimum)
	}
	return pids
}

// TestSideBySide runs two sandboxes, and stops one of them. The other must keep
// running.
func TestSideBySide(t *testing.T) {
	one, other := start(t), start(t)
	for _, s := range []*sandbox{one, other} {
		s.report = readReport(t, s.stdout, s.stderr)
	}
	if one.Dir == other.Dir || one.Seed.Server == other.Seed.Server {
		t.Errorf("both are in %s and %s, at %s and %s", one.Dir, other.Dir, one.Seed.Server, other.Seed.Server)
	}

	pids := one.processes(t)
	if status := one.stop(t, syscall.SIGTERM); status != 0 {
		t.Errorf("exit status %d after SIGTERM\n%s", status, one.stderr)
	}
	gone(t, pids)
	if !missing(one.Dir) {
		t.Errorf("the temporary directory %s is left", one.Dir)
	}
	other.must(t, other.Seed.Kubeconfig, "get", "namespace", "kube-system")
}

func TestKilledSupervisor(t *testing.T) {
	s := up(t, "--dir", t.TempDir())
	pids := s.processes(t)
	s.stop(t, syscall.SIGKILL)
	gone(t, pids)
	// The kernel has released the lock, so the directory can be used again.
	again := up(t, "--dir", s.Dir)
	again.must(t, again.Seed.Kubeconfig, "get", "namespace", "kube-system")
}

func TestDeadComponent(t *testing.T) {
	s := up(t, "--dir", t.TempDir())
	pids := s.processes(t)
	for _, pid := range pids {
		name, _ := exec.Command("ps", "-o", "args=", "-p", strconv.Itoa(pid)).Output()
		if bytes.HasPrefix(name, []byte("kube-controller-manager ")) {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
	_ = s.cmd.Wait()
	if status := s.cmd.ProcessState.ExitCode(); status != 1 {
		t.Errorf("exit status %d", status)
	}
	for _, want := range []string{"kube-controller-manager of seed died (signal: killed)", "last lines of its log"} {
		if !strings.Contains(s.stderr.String(), want) {
			t.Errorf("%q is missing in\n%s", want, s.stderr)
		}
	}
	gone(t, pids)
}

// TestDeadParent starts the sandbox from a shell, kills the shell, and closes both
// pipes that the sandbox writes to. The sandbox must still remove its temporary
// directory, which has private keys.
func TestDeadParent(t *testing.T) {
	temporary := t.TempDir()
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	shell := exec.Command("sh", "-c", `"$0" up; exit $?`, program(t))
	shell.Env = append(os.Environ(), "TMPDIR="+temporary)
	shell.Stderr = write
	stdout, err := shell.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := shell.Start(); err != nil {
		t.Fatal(err)
	}
	_ = write.Close()
	said := &bytes.Buffer{}
	go func() { _, _ = said.ReadFrom(read) }()
	s := &sandbox{report: readReport(t, stdout, said)}
	pids := s.processes(t)
	if s.PID == shell.Process.Pid {
		t.Fatal("the shell has replaced itself by the program, so the sandbox has no parent to lose")
	}
	_ = read.Close()
	_ = stdout.Close()
	_ = shell.Process.Kill()
	_ = shell.Wait()
	gone(t, pids)
	if left, err := os.ReadDir(temporary); err != nil || len(left) > 0 {
		t.Errorf("%v is left (%v)", left, err)
	}
}

func TestDetach(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "dir")
	status, stdout, stderr := run(t, "up", "--detach", "--dir", dir)
	if status != 0 {
		t.Fatalf("exit status %d\n%s", status, stderr)
	}
	s := &sandbox{report: readReport(t, strings.NewReader(stdout), nil)}
	pids := s.processes(t)
	s.must(t, s.Seed.Kubeconfig, "get", "namespace", "kube-system")
	for range 2 { // the second time, no sandbox runs
		if status, _, stderr := run(t, "down", "--dir", dir); status != 0 {
			t.Errorf("down: exit status %d\n%s", status, stderr)
		}
	}
	for _, pid := range pids {
		if alive(pid) && pid != s.PID {
			t.Errorf("process %d still runs after down", pid)
		}
	}
	gone(t, pids)
}

func TestInterruptedStart(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "dir")
	s := start(t, "--dir", dir)
	eventually(t, "API server", func() bool { return len(processes(t, dir, 0)) > 1 })
	if status := s.stop(t, syscall.SIGINT); status != 1 {
		t.Errorf("exit status %d\n%s", status, s.stderr)
	}
	if pids := processes(t, dir, 0); len(pids) > 0 {
		t.Errorf("the processes %v still run", pids)
	}
}

// TestMisuse checks that the program rejects invalid arguments with exit status 2
// and an error, and writes nothing to standard output.
func TestMisuse(t *testing.T) {
	for name, test := range map[string]struct {
		args []string
		want string
	}{
		"unknown command": {[]string{"upp"}, `no command "upp"`},
		"unknown flag":    {[]string{"up", "--shot=a/b"}, "--shot"},
		"argument":        {[]string{"up", "garden-dev/x"}, "takes no argument"},
		"bad shoot":       {[]string{"up", "--shoot=x"}, "NAMESPACE/NAME"},
		"bad number":      {[]string{"up", "--nodes=three"}, "three"},
		"dir is a file":   {[]string{"up", "--dir=/proc/version"}, "--dir /proc/version"},
		"foreign dir":     {[]string{"up", "--dir=/usr"}, "other files"},
		"too big":         {[]string{"up", "--shoots=101"}, "from 0 to 100 shoots"},
		"detached":        {[]string{"up", "--detach", "--dir=/usr"}, "other files"},
		"down nowhere":    {[]string{"down"}, "--dir is missing"},
		"no such command": {[]string{"node", "foo"}, `no command "foo"; there are exec, fault, heal, kill, list, partition, start`},
		"no node":         {[]string{"node", "kill", "--dir=/usr"}, "kill accepts 1 arg(s), received 0; see"},
		"no command":      {[]string{"node", "exec", "--dir=/usr", "node-1"}, "node exec --help"},
		"nodes of none":   {[]string{"node", "list", "--dir=/usr"}, "no sandbox runs in /usr"},
		"nodes nowhere":   {[]string{"node", "list"}, "--dir is missing"},
		"no fault":        {[]string{"node", "fault", "--dir=/usr", "node-1"}, "--link-down, --loss, --block, --mtu or --cut-off-from; `trellis-sandbox node heal node-1`"},
		"fault of zero":   {[]string{"node", "fault", "--dir=/usr", "node-1", "--loss=0"}, "fault needs a fault"},
		"too much loss":   {[]string{"node", "fault", "--dir=/usr", "node-1", "--loss=200"}, "--loss 200: it is a percentage, from 0 to 100"},
		"bad direction":   {[]string{"node", "fault", "--dir=/usr", "node-1", "--block=sideways"}, "--block sideways: it is in or out"},
		"too small MTU":   {[]string{"node", "fault", "--dir=/usr", "node-1", "--mtu=67"}, "--mtu 67: it is at least 68 bytes"},
		"no side":         {[]string{"node", "partition", "--dir=/usr"}, "node partition --help"},
		"down elsewhere":  {[]string{"down", "--dir=/usr"}, "not the directory of a sandbox"},
	} {
		t.Run(name, func(t *testing.T) {
			status, stdout, stderr := run(t, test.args...)
			if status != 2 || stdout != "" || !strings.Contains(stderr, test.want) {
				t.Errorf("exit status %d, output %q, want %q in\n%s", status, stdout, test.want, stderr)
			}
		})
	}
}

func TestTooSlow(t *testing.T) {
	status, stdout, stderr := run(t, "up", "--timeout=1s")
	if status != 1 || stdout != "" || !strings.Contains(stderr, "not ready within 1s") {
		t.Errorf("exit status %d, output %q\n%s", status, stdout, stderr)
	}
}
