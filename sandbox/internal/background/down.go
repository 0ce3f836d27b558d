// SPDX-License-Identifier: Apache-2.0

package background

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"github.com/trellis-network/trellis/sandbox/internal/options"
	"github.com/trellis-network/trellis/sandbox/internal/realnodes/cgroups"
	"github.com/trellis-network/trellis/sandbox/internal/workdir"
)

const (
	// patience is the time that a sandbox has to stop in order.
	patience = 30 * time.Second
	// afterKill is the time that the processes may take to end once the
	// supervisor was killed.
	afterKill = 5 * time.Second
	interval  = 50 * time.Millisecond
)

// Down stops the sandbox that runs in the directory at path, and waits until its
// processes have ended. Then it removes the root file systems of its real nodes, also
// those of a sandbox that ended before. It returns false if no sandbox ran there.
func Down(path string) (stopped bool, err error) {
	if stopped, err = stop(path); err != nil {
		return stopped, err
	}
	return stopped, removeNodes(path)
}

// removeNodes tries again while the processes of a killed sandbox end, which may write files yet.
func removeNodes(path string) error {
	for deadline := time.Now().Add(afterKill); ; time.Sleep(interval) {
		if err := workdir.RemoveNodes(path); err == nil || time.Now().After(deadline) {
			return err
		}
	}
}

func stop(path string) (stopped bool, err error) {
	if path == "" {
		return false, options.Invalidf("--dir is missing; name the directory of the sandbox to stop: the field dir of the line that `up` printed")
	}
	pid, running := workdir.Holder(path)
	if !running {
		return false, errors.Join(notASandbox(path), sweepCgroups())
	}
	if err := syscall.Kill(pid, syscall.SIGTERM); err != nil {
		return false, fmt.Errorf("stop the sandbox with process id %d: %w", pid, err)
	}
	if gone(path, patience) {
		return true, nil
	}
	// Its components end with it.
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		return false, fmt.Errorf("kill the sandbox with process id %d: %w", pid, err)
	}
	if !gone(path, afterKill) {
		return false, fmt.Errorf("the sandbox with process id %d still runs after SIGKILL", pid)
	}
	return true, nil
}

// sweepCgroups removes the cgroups that a killed sandbox has left. Only root's has any.
func sweepCgroups() error {
	if os.Geteuid() != 0 {
		return nil
	}
	return cgroups.Sweep()
}

// notASandbox rejects a path that exists and is not the directory of a sandbox.
// A path that does not exist may have been one, so it is no error.
func notASandbox(path string) error {
	if _, err := os.Stat(path); err == nil && !workdir.IsSandbox(path) {
		return options.Invalidf("--dir %s is not the directory of a sandbox; name the field dir of the line that `up` printed", path)
	}
	return nil
}

func gone(path string, within time.Duration) bool {
	for deadline := time.Now().Add(within); time.Now().Before(deadline); time.Sleep(interval) {
		if _, running := workdir.Holder(path); !running {
			return true
		}
	}
	return false
}
