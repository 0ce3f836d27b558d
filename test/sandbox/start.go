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

// Options say what to start. The zero value is a garden and seed without shoots.
type Options struct {
	// Shoots are shoots to run, each as NAMESPACE/NAME.
	Shoots []string
	// Nodes is how many nodes each shoot has; 0 stands for the program's default.
	Nodes int
	// Users are identities without rights in the seed, each as
	// NAME[=GROUP,GROUP…].
	Users []string
	// Dir is where to keep everything; empty means a temporary directory.
	Dir string
	// Timeout bounds the start; 0 stands for the program's default.
	Timeout time.Duration
	// Stderr takes the progress; nil means os.Stderr.
	Stderr io.Writer
	// Args are further flags of `trellis-sandbox up`.
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
	if o.Nodes != 0 {
		args = append(args, fmt.Sprintf("--nodes=%d", o.Nodes))
	}
	if o.Dir != "" {
		args = append(args, "--dir", o.Dir)
	}
	if o.Timeout != 0 {
		args = append(args, "--timeout", o.Timeout.String())
	}
	return append(args, o.Args...)
}

// stopTimeout is more than the program ever needs to stop.
const stopTimeout = 30 * time.Second

// run is the program as a child process.
type run struct {
	cmd   *exec.Cmd
	tail  *tail
	ended chan struct{}
	err   error // valid when ended is closed
	once  sync.Once
}

// Start starts a sandbox and returns when everything in it is ready, or with the
// cause of ctx' end. The sandbox ends with Stop, with ctx, and with this process at
// the latest.
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
	// A Ctrl-C in the terminal is for this process, which then stops the sandbox:
	// a second signal would keep it from cleaning up.
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

// askToStop tells the program to stop, once.
func (r *run) askToStop() {
	r.once.Do(func() { _ = r.cmd.Process.Signal(syscall.SIGTERM) })
}

// Stop ends the sandbox and returns when nothing of it is left. It returns an error if
// the sandbox had ended by itself, or did not end in order. Further calls return the
// same. A sandbox that was handed down goes on.
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

// Done is closed when the sandbox has ended, asked to or not. It is nil for one that
// was handed down.
func (s *Sandbox) Done() <-chan struct{} {
	if s.run == nil {
		return nil
	}
	return s.run.ended
}

// tail keeps the last of what is written to it.
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
