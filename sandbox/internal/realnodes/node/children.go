// SPDX-License-Identifier: Apache-2.0

package node

import (
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"sync"

	"golang.org/x/sys/unix"
)

// children are the processes of a node. Those that have lost their parent belong to its first
// process too, so it waits for all processes, and not only for those that it started.
type children struct {
	mu   sync.Mutex
	own  map[int]chan error
	wake chan os.Signal
}

func newChildren() *children {
	c := &children{own: map[int]chan error{}, wake: make(chan os.Signal, 1)}
	signal.Notify(c.wake, unix.SIGCHLD)
	go func() {
		for range c.wake {
			c.reap()
		}
	}()
	return c
}

// start starts a program. The channel gets one value when it has ended: nil if its exit
// status is 0.
func (c *children) start(cmd *exec.Cmd) (ended <-chan error, err error) {
	// While the lock is held, reap does not take the process away.
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", cmd.Args[0], err)
	}
	end := make(chan error, 1)
	c.own[cmd.Process.Pid] = end
	return end, nil
}

// reap waits for all processes that have ended.
func (c *children) reap() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for {
		var status unix.WaitStatus
		pid, err := unix.Wait4(-1, &status, unix.WNOHANG, nil)
		if err == unix.EINTR {
			continue
		}
		if err != nil || pid <= 0 {
			return
		}
		if end, ours := c.own[pid]; ours {
			delete(c.own, pid)
			end <- result(status)
		}
	}
}

func result(status unix.WaitStatus) error {
	switch {
	case status.Signaled():
		return fmt.Errorf("ended by the signal %s", unix.SignalName(status.Signal()))
	case status.ExitStatus() != 0:
		return fmt.Errorf("exit status %d", status.ExitStatus())
	}
	return nil
}
