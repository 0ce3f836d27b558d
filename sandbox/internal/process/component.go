// SPDX-License-Identifier: Apache-2.0

package process

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// component is one running process.
type component struct {
	spec Spec
	cmd  *exec.Cmd
	// done is closed when the process has ended and was waited for.
	done chan struct{}
	// mayEnd is set, under the group's lock, when the end of the process is no death.
	mayEnd bool
}

func start(executable string, spec Spec, lifeline *os.File) (*component, error) {
	log, err := os.OpenFile(spec.Log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	defer log.Close()

	cmd := &exec.Cmd{
		Path:   executable,
		Args:   append([]string{spec.Component}, spec.Args...),
		Dir:    spec.Dir,
		Stdout: log,
		Stderr: log,
		// The first extra file is descriptor 3.
		ExtraFiles: []*os.File{lifeline},
		Env:        append(append(os.Environ(), spec.Env...), lifelineVariable+"=3"),
		// A terminal sends its signals to a whole process group. Only the supervisor
		// must receive them: it stops the components in order.
		SysProcAttr: &syscall.SysProcAttr{Setpgid: true, Cloneflags: spec.Namespaces},
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	c := &component{spec: spec, cmd: cmd, done: make(chan struct{})}
	go func() {
		_ = cmd.Wait()
		close(c.done)
	}()
	return c, nil
}

func (c *component) pid() int { return c.cmd.Process.Pid }

// stop sends the process SIGTERM, kills it if it still runs after grace, and
// returns when it has ended.
func (c *component) stop(grace time.Duration) {
	_ = c.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-c.done:
		return
	case <-time.After(grace):
	}
	_ = c.cmd.Process.Kill()
	<-c.done
}

// death describes the unexpected end of a process.
func (c *component) death() *Death {
	return &Death{Component: c.spec.String(), State: c.cmd.ProcessState.String(), Log: c.spec.Log, LastLines: tail(c.spec.Log)}
}

// Death is the error of a component that ended before Group.Stop.
type Death struct {
	// Component is the component's name and cluster, for the message.
	Component string
	// State is how the process ended, for example "exit status 1".
	State string
	// Log is the path of the component's log, and LastLines is the end of the log.
	Log       string
	LastLines string
}

// Error implements error.
func (d *Death) Error() string {
	return fmt.Sprintf("%s died (%s); the last lines of its log %s:\n%s", d.Component, d.State, d.Log, d.LastLines)
}

// Reason returns the last line that a component wrote before its death, as an error. It returns
// other errors as they are.
func Reason(err error) error {
	var death *Death
	if !errors.As(err, &death) {
		return err
	}
	lines := strings.Split(death.LastLines, "\n")
	last := strings.TrimSpace(lines[len(lines)-1])
	if last == "" {
		last = death.Component + " died: " + death.State
	}
	return errors.New(last)
}
