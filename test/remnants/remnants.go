// SPDX-License-Identifier: Apache-2.0

// Package remnants finds what tests with nodes leave behind on the machine: processes, named
// network namespaces, mounts and cgroups.
package remnants

import (
	"bufio"
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// ending is how long processes may take to end after the one that started them.
const ending = 30 * time.Second

// Check calls run, which runs the tests of a package, and returns its result. If run leaves
// anything behind, Check says so on standard error and returns 1.
func Check(run func() int) int {
	before, err := look()
	if err != nil {
		fmt.Fprintln(os.Stderr, "cannot find out what the tests leave behind:", err)
		return 1
	}
	status := run()
	if left := before.await(); len(left) > 0 {
		fmt.Fprintf(os.Stderr, "the tests have left behind:\n%s\n", strings.Join(left, "\n"))
		return 1
	}
	return status
}

// variable is set in the process that AfterKill kills.
const variable = "TRELLIS_TEST_IS_KILLED"

// made is the line by which that process tells that it has made everything.
const made = "everything is made"

// AfterKill runs the present test in a process of its own, with more flags. There it calls create,
// and when that has returned, the process is killed (SIGKILL). The test fails if anything that
// create has made is still there half a minute later, but for temporary files, which AfterKill
// removes.
func AfterKill(t *testing.T, flags []string, create func()) {
	t.Helper()
	if os.Getenv(variable) != "" {
		create()
		fmt.Println(made)
		select {}
	}
	before, err := look()
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	// Sockets are in there, whose paths must be short.
	temporary, err := os.MkdirTemp("", "killed-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(temporary)
	output, written, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer output.Close()
	test := exec.Command(program, append(flags, "-test.run=^"+t.Name()+"$", "-test.v")...)
	test.Env = append(os.Environ(), variable+"=true", "TMPDIR="+temporary)
	test.Stdout, test.Stderr = written, written
	err = test.Start()
	_ = written.Close()
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	lines := bufio.NewScanner(output)
	for lines.Scan() && lines.Text() != made {
		fmt.Fprintln(&log, lines.Text())
	}
	processes := before.processes()
	_ = test.Process.Kill()
	_ = test.Wait()
	if lines.Text() != made {
		t.Fatalf("the process ended before it had made everything:\n%s", &log)
	}
	killed := time.Now()
	if left := before.await(); len(left) > 0 {
		t.Errorf("%s after the process was killed, there still are:\n%s", ending, strings.Join(left, "\n"))
	}
	t.Logf("%d processes were gone %.1f s after that of the test was killed", len(processes), time.Since(killed).Seconds())
	if len(processes) < 2 {
		t.Error("it had started none, so this shows nothing")
	}
}

// machine is what was there at some time.
type machine struct {
	children   map[int]bool
	namespaces []string
	mounts     []string
	cgroups    []string
}

// look looks at the machine. From then on processes whose parent ends become children of this one.
func look() (*machine, error) {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return nil, fmt.Errorf("adopt processes: %w", err)
	}
	m := &machine{children: map[int]bool{}}
	for _, pid := range descendants() {
		m.children[pid] = true
	}
	var err error
	m.namespaces, m.mounts, m.cgroups, err = named()
	return m, err
}

// named returns what has a name on the machine, without cgroups of sandboxes that run.
func named() (namespaces, mounts, cgroups []string, err error) {
	if namespaces, err = filepath.Glob("/run/netns/*"); err != nil {
		return nil, nil, nil, err
	}
	content, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		return nil, nil, nil, err
	}
	// A cgroup may vanish while it is read.
	_ = filepath.WalkDir("/sys/fs/cgroup", func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return nil
		}
		rest, ours := strings.CutPrefix(entry.Name(), "trellis-sandbox-")
		if !ours {
			return nil
		}
		pid, _, _ := strings.Cut(rest, "-")
		if _, err := os.Stat("/proc/" + pid); err != nil {
			cgroups = append(cgroups, path)
		}
		return fs.SkipDir
	})
	return namespaces, strings.Split(string(content), "\n"), cgroups, nil
}

// await returns what is left that was not there before, once it is nothing or the time is over.
func (m *machine) await() (left []string) {
	for began := time.Now(); ; {
		left = m.left()
		if len(left) == 0 || time.Since(began) > ending {
			return left
		}
		<-time.After(100 * time.Millisecond)
	}
}

func (m *machine) left() (left []string) {
	for _, pid := range m.processes() {
		command, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		left = append(left, fmt.Sprintf("process %d: %s", pid, bytes.ReplaceAll(command, []byte{0}, []byte(" "))))
	}
	namespaces, mounts, cgroups, err := named()
	if err != nil {
		left = append(left, err.Error())
	}
	for _, each := range []struct {
		kind       string
		before, is []string
	}{{"network namespace", m.namespaces, namespaces}, {"mount", m.mounts, mounts}, {"cgroup", m.cgroups, cgroups}} {
		for _, name := range each.is {
			if !slices.Contains(each.before, name) {
				left = append(left, each.kind+" "+name)
			}
		}
	}
	return left
}

// processes returns those that this process has started since, and those that they have started.
func (m *machine) processes() []int {
	return slices.DeleteFunc(descendants(), func(pid int) bool { return m.children[pid] })
}

// descendants returns the processes that run and that this one has started, or that one of these
// has.
func descendants() []int {
	parents := map[int]int{}
	ended := map[int]bool{}
	files, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			continue // it has ended
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		// After the program's name in parentheses: the state, and the parent (proc(5)).
		fields := strings.Fields(string(content[bytes.LastIndexByte(content, ')')+1:]))
		if err != nil || len(fields) < 2 {
			continue
		}
		parents[pid], _ = strconv.Atoi(fields[1])
		ended[pid] = fields[0] == "Z" || fields[0] == "X"
	}
	var found []int
	for pid := range parents {
		for ancestor := parents[pid]; ancestor != 0; ancestor = parents[ancestor] {
			if ancestor == os.Getpid() && !ended[pid] {
				found = append(found, pid)
			}
		}
	}
	slices.Sort(found)
	return found
}
