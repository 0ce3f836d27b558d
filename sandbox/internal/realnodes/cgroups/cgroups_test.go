// SPDX-License-Identifier: Apache-2.0

package cgroups

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// inside is the environment variable with the cgroup which this test program enters, instead
// of running tests.
const inside = "TEST_CGROUP"

// alone is set if that program sees only version 2, whatever the machine has. guarded is set to the
// name of a cgroup of which it has a Guard.
const (
	alone   = "TEST_CGROUP_ALONE"
	guarded = "TEST_CGROUP_GUARDED"
)

func TestMain(m *testing.M) {
	path := os.Getenv(inside)
	if path == "" {
		os.Exit(m.Run())
	}
	if name := os.Getenv(guarded); name != "" {
		if _, err := NewGuard(name, func(error) {}); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
	}
	if err := show(path); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	// The test reads the line above, and then kills this process.
	fmt.Println("entered")
	time.Sleep(time.Hour)
}

// show enters the cgroup, makes it the root of all that it sees, and prints it.
func show(path string) error {
	runtime.LockOSThread()
	if err := unix.Mount("", "/", "", unix.MS_PRIVATE|unix.MS_REC, ""); err != nil {
		return err
	}
	if os.Getenv(alone) != "" {
		if err := onlyVersion2(); err != nil {
			return err
		}
	}
	if err := Enter(path); err != nil {
		return err
	}
	if err := unix.Unshare(unix.CLONE_NEWCGROUP); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "cgroups-")
	if err != nil {
		return err
	}
	// The mount ends with the namespace.
	defer os.Remove(dir)
	if err := Mount(dir); err != nil {
		return err
	}
	defer func() { _ = unix.Unmount(dir, unix.MNT_DETACH) }()
	processes, err := os.ReadFile(filepath.Join(dir, "memory", "cgroup.procs"))
	if err != nil {
		processes, err = os.ReadFile(filepath.Join(dir, "init", "cgroup.procs"))
	}
	if err != nil {
		return err
	}
	fmt.Println(strings.Fields(string(processes)))
	return nil
}

// onlyVersion2 makes the mounts of this mount namespace those of a machine with version 2, and
// prints whether nodes could run there.
func onlyVersion2() error {
	const root = "/sys/fs/cgroup"
	if err := unix.Unmount(root, unix.MNT_DETACH); err != nil {
		return err
	}
	if err := unix.Mount("cgroup2", root, "cgroup2", 0, ""); err != nil {
		return err
	}
	fmt.Printf("check: %v;\n", Check())
	return nil
}

// enterInChild starts this program in the cgroup, with a mount namespace of its own. It returns
// what the program has printed.
func enterInChild(t *testing.T, path string, env ...string) (*exec.Cmd, string) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(append(os.Environ(), inside+"="+path), env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWNS}
	output, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	text := ""
	for buffer := make([]byte, 1024); !strings.Contains(text, "entered"); {
		n, err := output.Read(buffer)
		text += string(buffer[:n])
		if err != nil {
			t.Fatalf("%v: %s", err, text)
		}
	}
	if want := fmt.Sprintf("[%d]", cmd.Process.Pid); !strings.Contains(text, want) {
		t.Errorf("the root has the processes %s, want %s", text, want)
	}
	return cmd, text
}

// directories are those of a cgroup that are there, in all hierarchies.
func directories(t *testing.T, name string) (found []string) {
	t.Helper()
	all, err := hierarchies()
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range all {
		path := filepath.Join(h.parent(), name)
		if _, err := os.Stat(path); err == nil {
			found = append(found, path)
		}
	}
	return found
}

func needsRoot(t *testing.T) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("cgroups need root")
	}
	child := exec.Command("true")
	child.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWNS}
	if err := errors.Join(child.Run(), Check()); err != nil {
		t.Skip("root may not make namespaces or cgroups here: ", err)
	}
}

func TestACgroupIsEnteredAndRemoved(t *testing.T) {
	needsRoot(t)
	name, err := Name()
	if err != nil {
		t.Fatal(err)
	}
	child, _ := enterInChild(t, name+"/node-1")
	if len(directories(t, name+"/node-1")) == 0 {
		t.Error("there is no cgroup")
	}
	if pids, err := Processes(name); err != nil || len(pids) != 1 || pids[0] != child.Process.Pid {
		t.Errorf("it has the processes %v (%v), want %d", pids, err, child.Process.Pid)
	}
	_ = child.Process.Kill()
	if err := Remove(name); err != nil {
		t.Error(err)
	}
	if left := directories(t, name); len(left) > 0 {
		t.Errorf("%v is left", left)
	}
	if err := Remove(name); err != nil {
		t.Errorf("a second time: %v", err)
	}
}

// A machine that has the controllers in version 1 can show version 2 alone, with the
// controllers that are left. That is too little for nodes, which Check must say, and enough to
// make, enter and remove cgroups.
func TestVersion2Alone(t *testing.T) {
	needsRoot(t)
	all, err := hierarchies()
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(all, func(h hierarchy) bool { return len(h.controllers) == 0 }) {
		t.Skip("the machine has no cgroups of version 2")
	}
	name, err := Name()
	if err != nil {
		t.Fatal(err)
	}
	restoreDelegation(t)
	child, printed := enterInChild(t, name+"/node-1", alone+"=1")
	want := "check: <nil>;"
	if !all[0].delegates() {
		want = "without the controllers cpu, cpuset, memory"
	}
	if !strings.Contains(printed, want) {
		t.Errorf("printed %q, want %q", printed, want)
	}
	_ = child.Process.Kill()
	_ = child.Wait()
	for _, h := range all {
		if len(h.controllers) > 0 {
			continue
		}
		path := filepath.Join(h.mount, name)
		if _, err := os.Stat(filepath.Join(path, "node-1")); err != nil {
			t.Error(err)
		}
		if err := removeTree(path, time.Now().Add(patience)); err != nil {
			t.Error(err)
		}
	}
}

// restoreDelegation takes back, at the end of the test, what the root of version 2 delegates
// since its begin.
func restoreDelegation(t *testing.T) {
	t.Helper()
	all, err := hierarchies()
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range all {
		if len(h.controllers) > 0 {
			continue
		}
		file := filepath.Join(h.mount, "cgroup.subtree_control")
		before, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			after, err := os.ReadFile(file)
			if err != nil {
				t.Error(err)
			}
			for _, controller := range without(strings.Fields(string(after)), strings.Fields(string(before))) {
				if err := os.WriteFile(file, []byte("-"+controller), 0); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

func TestWhatVersion2Lacks(t *testing.T) {
	const all = "cpuset cpu io memory hugetlb pids"
	for what, test := range map[string]struct {
		controllers, delegated, processes string
		inContainer                       bool
		want                              string // empty: nothing
	}{
		"a machine":                       {controllers: all, processes: "1 2"},
		"some controllers in version 1":   {controllers: "io pids", want: "without the controllers cpu, cpuset, memory,"},
		"a container":                     {controllers: all, processes: "1 2", inContainer: true, want: "has processes itself"},
		"a container that delegates":      {controllers: all, delegated: all, inContainer: true},
		"a container without processes":   {controllers: all, inContainer: true},
		"a container with delegated some": {controllers: all, delegated: "pids", processes: "1", inContainer: true, want: "/init"},
	} {
		mount := t.TempDir()
		files := map[string]string{"cgroup.controllers": test.controllers, "cgroup.subtree_control": test.delegated, "cgroup.procs": test.processes}
		if test.inContainer {
			files["cgroup.type"] = "domain"
		}
		for name, content := range files {
			if err := os.WriteFile(filepath.Join(mount, name), []byte(content+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		err := checkV2(mount)
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want %q", what, err, test.want)
		}
	}
}

// What is written to the topmost cgroup is a setting of the whole machine.
func TestOfTheTopmostCgroupOnlyWhatNodesNeedIsWritten(t *testing.T) {
	for what, test := range map[string]struct {
		delegated string
		others    bool
		want      string // what was written last
	}{
		"they have all":                 {"cpuset cpu memory pids", true, "cpuset cpu memory pids"},
		"one is missing":                {"cpuset cpu memory", true, "+pids"},
		"below a cgroup of the sandbox": {"cpuset cpu memory pids", false, "+io"},
	} {
		path := t.TempDir()
		control := filepath.Join(path, "cgroup.subtree_control")
		for file, content := range map[string]string{filepath.Join(path, "cgroup.controllers"): "cpuset cpu memory pids io", control: test.delegated} {
			if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if err := delegate(path, test.others); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		if got, err := os.ReadFile(control); err != nil || string(got) != test.want {
			t.Errorf("%s: got %q (%v), want %q", what, got, err, test.want)
		}
	}
}

func TestOnlyCgroupsOfEndedSandboxesAreSwept(t *testing.T) {
	needsRoot(t)
	own, err := Name()
	if err != nil {
		t.Fatal(err)
	}
	ended := prefix + "1-1" // process 1 was started at another time
	for _, name := range []string{own, ended} {
		child, _ := enterInChild(t, name+"/node-1")
		_ = child.Process.Kill()
		_ = child.Wait()
	}
	if err := Sweep(); err != nil {
		t.Error(err)
	}
	if left := directories(t, ended); len(left) > 0 {
		t.Errorf("%v is left", left)
	}
	if len(directories(t, own)) == 0 {
		t.Error("the cgroup of a sandbox that runs is removed")
	}
	if err := Remove(own); err != nil {
		t.Error(err)
	}
}

func TestHierarchiesAreFound(t *testing.T) {
	for name, test := range map[string]struct {
		mounts, memberships string
		want                []hierarchy
	}{
		"version 1, two controllers in one, part of the tree mounted": {
			"31 30 0:1 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n" +
				"32 31 0:2 /docker/x /sys/fs/cgroup/cpu,cpuacct rw,relatime shared:9 - cgroup cgroup rw,cpu,cpuacct\n" +
				"33 31 0:3 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,xattr,name=systemd\n" +
				"34 31 0:4 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n",
			"5:cpu,cpuacct:/docker/x/y\n1:name=systemd:/\n0::/\n",
			[]hierarchy{
				{"/sys/fs/cgroup/cpu,cpuacct", []string{"cpu", "cpuacct"}, "/sys/fs/cgroup/cpu,cpuacct/y", false},
				{"/sys/fs/cgroup/systemd", []string{"name=systemd"}, "/sys/fs/cgroup/systemd", false},
				{"/sys/fs/cgroup/unified", nil, "/sys/fs/cgroup/unified", true},
			},
		},
		"version 2": {
			"31 30 0:1 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n",
			"0::/user.slice/session-1.scope\n",
			[]hierarchy{{"/sys/fs/cgroup", nil, "/sys/fs/cgroup/user.slice/session-1.scope", false}},
		},
		"version 2, this process is outside of what is mounted": {
			"31 30 0:1 /a /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n", "0::/b\n",
			[]hierarchy{{"/sys/fs/cgroup", nil, "/sys/fs/cgroup", false}},
		},
	} {
		got, err := parse([]byte(test.mounts), []byte(test.memberships))
		if err != nil || !reflect.DeepEqual(got, test.want) {
			t.Errorf("%s:\ngot  %+v (%v)\nwant %+v", name, got, err, test.want)
		}
	}
	if _, err := parse(nil, []byte("0::/\n")); err == nil {
		t.Error("no error without cgroups")
	}
}
