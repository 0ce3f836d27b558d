// SPDX-License-Identifier: Apache-2.0

package flannel

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// namespaces are those of a process that does nothing but hold them: network, mounts, processes.
// When the test ends, or its process dies, the holder's input ends, and with the holder end all
// processes in the namespaces, all interfaces and all mounts.
type namespaces struct {
	t *testing.T
	// pid is the holder's, as the machine counts.
	pid string
}

// newNamespaces makes namespaces. The script is of sh; it runs in them, and prepares what the
// holder's root will be, in a folder of its own that it gets as $1.
func newNamespaces(t *testing.T, script string) *namespaces {
	t.Helper()
	hold := exec.Command("unshare", "--net", "--mount", "--pid", "--fork", "--kill-child", "sh", "-euc",
		// The process namespace is new and /proc is not yet, so it says what the machine calls this process.
		"read -r pid rest </proc/self/stat\n"+script+"\n"+
			// Who enters the namespaces does it after this line, and finds the root changed.
			`exec chroot "$1" sh -c 'echo "$0"; exec cat' "$pid"`, "sh", t.TempDir())
	input, err := hold.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	output, err := hold.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var problems bytes.Buffer
	hold.Stderr = &problems
	if err := hold.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = input.Close()
		_, _ = io.Copy(io.Discard, output)
		_ = hold.Wait()
	})
	pid, err := bufio.NewReader(output).ReadString('\n')
	if err != nil {
		_ = hold.Wait()
		t.Fatalf("make namespaces: %v\n%s", err, &problems)
	}
	return &namespaces{t: t, pid: strings.TrimSpace(pid)}
}

// command returns a command that runs in the namespaces and in the holder's root.
func (n *namespaces) command(args ...string) *exec.Cmd {
	return exec.Command("nsenter", append([]string{"--target", n.pid, "--net", "--mount", "--pid", "--root", "--wd"}, args...)...)
}

// link runs ip in the network only, so that it knows processes by the machine's numbers.
func (n *namespaces) link(args ...string) {
	n.t.Helper()
	command := exec.Command("nsenter", append([]string{"--target", n.pid, "--net", "ip", "link"}, args...)...)
	if output, err := command.CombinedOutput(); err != nil {
		n.t.Fatalf("%s: %v\n%s", strings.Join(args, " "), err, output)
	}
}

// try runs a command and returns what it has written.
func (n *namespaces) try(args ...string) (string, error) {
	output, err := n.command(args...).CombinedOutput()
	if err != nil {
		err = fmt.Errorf("%s: %w\n%s", strings.Join(args, " "), err, output)
	}
	return string(output), err
}

// run is try for what must succeed.
func (n *namespaces) run(args ...string) string {
	n.t.Helper()
	output, err := n.try(args...)
	if err != nil {
		n.t.Fatal(err)
	}
	return output
}

// ip runs commands of ip, one a line.
func (n *namespaces) ip(lines string) {
	n.t.Helper()
	batch := n.command("ip", "-batch", "-")
	batch.Stdin = strings.NewReader(lines)
	if output, err := batch.CombinedOutput(); err != nil {
		n.t.Fatalf("ip: %v\n%s\nof\n%s", err, output, lines)
	}
}

// file returns the path by which this process reaches a file of the namespaces.
func (n *namespaces) file(path string) string { return filepath.Join("/proc", n.pid, "root", path) }

// network is the network of the holder.
func (n *namespaces) network() network { return network("/proc/" + n.pid + "/ns/net") }

// network is the path of a network namespace.
type network string

// within calls a function on a thread in the network. Its sockets stay there.
func (n network) within(do func() error) error {
	result := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with this goroutine
		result <- func() error {
			namespace, err := os.Open(string(n))
			if err != nil {
				return err
			}
			defer namespace.Close()
			if err := unix.Setns(int(namespace.Fd()), unix.CLONE_NEWNET); err != nil {
				return fmt.Errorf("enter %s: %w", n, err)
			}
			return do()
		}()
	}()
	return <-result
}
