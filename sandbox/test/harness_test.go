// SPDX-License-Identifier: Apache-2.0

// Package test runs the built program and checks what its users see.
package test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// report is the line that `up` prints. The test has a type of its own, so that it
// fails when the program's contract changes.
type report struct {
	Dir               string
	PID               int
	KubernetesVersion string
	MemoryMiB         int
	Kubectl           string
	Seed              struct {
		Server, Kubeconfig string
		Users              map[string]string
	}
	Shoots []struct {
		Namespace, Name, Server, Kubeconfig string
		Nodes                               int
		RealNodes                           []struct {
			Name      string
			Addresses []string
		}
	}
}

// binary returns the path of the built program. A command of the root module prints
// it, since this module cannot import the root module.
var binary = sync.OnceValues(func() (string, error) {
	cmd := exec.Command("go", "run", "./test/sandbox/build", "-path")
	cmd.Dir = "../.."
	out, err := cmd.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return "", fmt.Errorf("%s", exit.Stderr)
	}
	return strings.TrimSpace(string(out)), err
})

func program(t *testing.T) string {
	t.Helper()
	path, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// sandbox is a running `up`.
type sandbox struct {
	report
	cmd    *exec.Cmd
	stdout io.Reader
	stderr *bytes.Buffer
}

// up starts a sandbox, waits until it is ready, and stops it at the end of the
// test.
func up(t *testing.T, args ...string) *sandbox {
	t.Helper()
	s := start(t, args...)
	s.report = readReport(t, s.stdout, s.stderr)
	return s
}

// start starts a sandbox without waiting until it is ready.
func start(t *testing.T, args ...string) *sandbox {
	t.Helper()
	s := &sandbox{cmd: exec.Command(program(t), append([]string{"up"}, args...)...), stderr: &bytes.Buffer{}}
	s.launch(t)
	return s
}

func (s *sandbox) launch(t *testing.T) {
	t.Helper()
	s.cmd.Stderr = s.stderr
	stdout, err := s.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	s.stdout = stdout
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if s.cmd.ProcessState == nil {
			s.stop(t, syscall.SIGTERM)
		}
	})
}

func readReport(t *testing.T, from io.Reader, stderr fmt.Stringer) (r report) {
	t.Helper()
	line, err := bufio.NewReader(from).ReadBytes('\n')
	if err != nil {
		t.Fatalf("no report (%v):\n%v", err, stderr)
	}
	decoder := json.NewDecoder(bytes.NewReader(line))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&r); err != nil {
		t.Fatalf("report %s: %v", line, err)
	}
	return r
}

// stop sends a signal, waits for the end, and returns the exit status.
func (s *sandbox) stop(t *testing.T, signal syscall.Signal) int {
	t.Helper()
	if err := s.cmd.Process.Signal(signal); err != nil {
		t.Error(err)
	}
	_ = s.cmd.Wait()
	return s.cmd.ProcessState.ExitCode()
}

// run runs the program to its end.
func run(t *testing.T, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	cmd := exec.Command(program(t), args...)
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), out.String(), errs.String()
}

// try runs kubectl and returns its output.
func (s *sandbox) try(kubeconfig string, args ...string) (string, error) {
	return s.apply(kubeconfig, "", args...)
}

func (s *sandbox) apply(kubeconfig, input string, args ...string) (string, error) {
	cmd := exec.Command(s.Kubectl, append([]string{"--kubeconfig", kubeconfig}, args...)...)
	cmd.Stdin = strings.NewReader(input)
	out, err := cmd.CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

// must runs kubectl and fails the test if kubectl fails.
func (s *sandbox) must(t *testing.T, kubeconfig string, args ...string) string {
	t.Helper()
	out, err := s.try(kubeconfig, args...)
	if err != nil {
		t.Fatalf("kubectl %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

// processes returns the ids of all running processes of the sandbox: the
// supervisor with the id own, and its components. It finds the components by their
// command lines, since those of a killed supervisor have lost their parent.
func processes(t *testing.T, dir string, own int) []int {
	t.Helper()
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	var pids []int
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		line, _ := os.ReadFile("/proc/" + entry.Name() + "/cmdline")
		if alive(pid) && (pid == own || bytes.Contains(line, []byte(dir+"/"))) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// alive reports whether a process runs. A zombie does not run.
func alive(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(rest, "Z")
}

// gone fails the test if one of the processes does not end.
func gone(t *testing.T, pids []int) {
	t.Helper()
	for _, pid := range pids {
		eventually(t, fmt.Sprintf("end of process %d", pid), func() bool { return !alive(pid) })
	}
}

// patience is the time that something may take on a busy machine.
const patience = time.Minute

func eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !done(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("no %s within %s", what, patience)
		}
	}
}

func missing(path string) bool {
	_, err := os.Stat(path)
	return errors.Is(err, os.ErrNotExist)
}
