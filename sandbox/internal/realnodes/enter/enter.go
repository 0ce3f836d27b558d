// SPDX-License-Identifier: Apache-2.0

// Package enter runs commands in the namespaces of other processes.
package enter

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"

	"golang.org/x/sys/unix"
)

// The namespaces that Run enters, in this order: the last one changes what /proc shows.
var (
	// Network is the network namespace only.
	Network = []string{"net"}
	// Node is everything that makes a node.
	Node = []string{"cgroup", "ipc", "uts", "net", "pid", "mnt"}
)

// path is where programs of a node are looked for.
const path = "/opt/node/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// Run runs a command in the namespaces of the process pid, with the standard files of this
// process, and returns its exit status.
func Run(pid int, namespaces, command []string) (status int, err error) {
	// The thread ends with this goroutine, and no other goroutine runs in the namespaces.
	runtime.LockOSThread()
	if err := enter(pid, namespaces); err != nil {
		return 0, err
	}
	if err := os.Setenv("PATH", path); err != nil {
		return 0, err
	}
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	err = cmd.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return max(1, exit.ExitCode()), nil
	}
	return 0, err
}

// enter moves the calling thread into the namespaces.
func enter(pid int, namespaces []string) error {
	var open []int
	for _, namespace := range namespaces {
		file, err := unix.Open(fmt.Sprintf("/proc/%d/ns/%s", pid, namespace), unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err != nil {
			return fmt.Errorf("open the %s namespace of process %d: %w", namespace, pid, err)
		}
		defer unix.Close(file)
		open = append(open, file)
	}
	// A thread can change its mount namespace if it shares its root with no other.
	if err := unix.Unshare(unix.CLONE_FS); err != nil {
		return err
	}
	for i, file := range open {
		if err := unix.Setns(file, 0); err != nil {
			return fmt.Errorf("enter the %s namespace of process %d: %w", namespaces[i], pid, err)
		}
	}
	return nil
}
