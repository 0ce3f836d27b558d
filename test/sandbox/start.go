// SPDX-License-Identifier: Apache-2.0

package sandbox

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Options describe the sandbox to start. The zero value is a garden and seed without
// shoots.
type Options struct {
	// Shoots are the shoots, each as NAMESPACE/NAME, or NAMESPACE/NAME=N with N simulated nodes,
	// whatever Nodes and Real are.
	Shoots []string
	// Nodes is the number of nodes of each shoot. 0 means the program's default.
	Nodes int
	// Real makes the nodes of all shoots real ones, and then Nodes must be 0. nil means that
	// they are simulated.
	Real *RealNodes
	// Users are identities without rights in the seed, each as
	// NAME[=GROUP,GROUP…].
	Users []string
	// AuditPolicy is the path of the audit policy of all API servers. Empty means that they
	// write no audit log.
	AuditPolicy string
	// Dir is the directory of the sandbox. Empty means a temporary directory.
	Dir string
	// Timeout limits the start. 0 means the program's default.
	Timeout time.Duration
	// Stderr takes the progress. nil means os.Stderr.
	Stderr io.Writer
	// Args are more flags of `trellis-sandbox up`.
	Args []string
}

func (o Options) args() []string {
	args := []string{"up"}
	for _, shoot := range o.Shoots {
		args = append(args, "--shoot", shoot)
	}
	for _, user := range o.Users {
		args = append(args, "--user", user)
	}
	if o.AuditPolicy != "" {
		args = append(args, "--audit-policy", o.AuditPolicy)
	}
	if o.Nodes != 0 {
		args = append(args, fmt.Sprintf("--nodes=%d", o.Nodes))
	}
	if o.Real != nil {
		args = append(args, o.Real.args()...)
	}
	if o.Dir != "" {
		args = append(args, "--dir", o.Dir)
	}
	if o.Timeout != 0 {
		args = append(args, "--timeout", o.Timeout.String())
	}
	return append(args, o.Args...)
}

// stopTimeout is longer than the program ever needs to stop.
const stopTimeout = 30 * time.Second

// run is the program as a child process.
type run struct {
	cmd   *exec.Cmd
	tail  *tail
	ended chan struct{}
	err   error // valid when ended is closed
	once  sync.Once
}

// Start starts a sandbox and returns when all its clusters are ready. If ctx ends
// earlier, Start returns the cause of that. The sandbox ends with Stop, with ctx, or
// with this process, whichever comes first.
func Start(ctx context.Context, options Options) (*Sandbox, error) {
	binary, err := Binary()
	if err != nil {
		return nil, err
	}
	if options.Stderr == nil {
		options.Stderr = os.Stderr
	}
	r := &run{tail: &tail{}, ended: make(chan struct{})}
	r.cmd = exec.CommandContext(ctx, binary, options.args()...)
	r.cmd.Stderr = io.MultiWriter(options.Stderr, r.tail)
	r.cmd.Cancel = func() error { r.askToStop(); return nil }
	// A group of its own protects the program from the signal of a Ctrl-C in the
	// terminal. This process receives that signal and stops the sandbox. A second
	// signal would end the program before it has cleaned up.
	r.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	r.cmd.WaitDelay = stopTimeout
	stdout, err := r.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := r.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the sandbox: %w", err)
	}

	report, readErr := bufio.NewReader(stdout).ReadBytes('\n')
	go func() {
		r.err = r.cmd.Wait()
		close(r.ended)
	}()
	if readErr != nil {
		<-r.ended
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, fmt.Errorf("the sandbox did not start (%w): %s", r.err, r.tail)
	}
	s := &Sandbox{run: r}
	if err := json.Unmarshal(report, s); err != nil {
		_ = s.Stop()
		return nil, fmt.Errorf("the sandbox reported %q: %w", report, err)
	}
	return s, nil
}

// askToStop sends SIGTERM to the program. Further calls do nothing.
func (r *run) askToStop() {
	r.once.Do(func() { _ = r.cmd.Process.Signal(syscall.SIGTERM) })
}

// Stop ends the sandbox and returns when its processes have ended. It returns an error
// if the sandbox ended before Stop, or did not end in order. Further calls return the
// same. Stop does nothing to a sandbox that was handed down.
func (s *Sandbox) Stop() error {
	if s.run == nil {
		return nil
	}
	s.run.askToStop()
	select {
	case <-s.run.ended:
	case <-time.After(stopTimeout):
		_ = s.run.cmd.Process.Kill() // its components end with it
		<-s.run.ended
	}
	if s.run.err != nil {
		return fmt.Errorf("the sandbox ended with %w: %s", s.run.err, s.run.tail)
	}
	return nil
}

// Done returns a channel that is closed when the sandbox has ended, with or without
// Stop. It returns nil for a sandbox that was handed down.
func (s *Sandbox) Done() <-chan struct{} {
	if s.run == nil {
		return nil
	}
	return s.run.ended
}

// tail keeps the end of the text that is written to it.
type tail struct {
	mu   sync.Mutex
	text string
}

const tailSize = 4 << 10

// Write implements io.Writer.
func (t *tail) Write(text []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text += string(text)
	t.text = t.text[max(0, len(t.text)-tailSize):]
	return len(text), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.TrimSpace(t.text)
}
