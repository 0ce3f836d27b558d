package process

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// component is one running process.
type component struct {
	spec Spec
	cmd  *exec.Cmd
	// done is closed when the process has ended and was waited for.
	done chan struct{}
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
		// A terminal sends its signals to a whole process group. They are for the
		// supervisor, who stops components in order.
		SysProcAttr: &syscall.SysProcAttr{Setpgid: true},
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

// stop asks the process to end, kills it after the grace, and returns when it
// has ended.
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

// death describes the end of a process that should have gone on.
func (c *component) death() *Death {
	return &Death{Component: c.spec.String(), State: c.cmd.ProcessState.String(), Log: c.spec.Log, LastLines: tail(c.spec.Log)}
}

// Death says that a component ended by itself.
type Death struct {
	// Component names it, for people.
	Component string
	// State is how it ended, for example "exit status 1".
	State string
	// Log is the file with all that it said, and LastLines the end of it.
	Log       string
	LastLines string
}

// Error implements error.
func (d *Death) Error() string {
	return fmt.Sprintf("%s died (%s); the last lines of its log %s:\n%s", d.Component, d.State, d.Log, d.LastLines)
}
