// SPDX-License-Identifier: Apache-2.0

// Package background runs a sandbox that outlives the command that started it,
// and stops such a sandbox.
package background

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/trellis-network/trellis/sandbox/internal/workdir"
)

// variable marks the process that Detach starts.
const variable = "TRELLIS_SANDBOX_BACKGROUND"

// IsBackground reports whether this process is the one in the background.
func IsBackground() bool { return os.Getenv(variable) != "" }

// Detach starts this command line again, in a session of its own. It copies the
// first line that the new process writes to out, and returns. If the process
// ends before it writes a line, Detach returns its exit status. When ctx ends
// earlier, Detach sends the process SIGTERM and waits for its end.
func Detach(ctx context.Context, out io.Writer) (status int, err error) {
	executable, err := os.Executable()
	if err != nil {
		return 0, err
	}
	cmd := exec.Command(executable, os.Args[1:]...)
	cmd.Env = append(os.Environ(), variable+"=1")
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return 0, err
	}
	if err := cmd.Start(); err != nil {
		return 0, fmt.Errorf("start the sandbox in the background: %w", err)
	}
	// Not exec.CommandContext: once ready, the sandbox outlives ctx.
	leave := context.AfterFunc(ctx, func() { _ = cmd.Process.Signal(syscall.SIGTERM) })
	defer leave()
	if line, err := bufio.NewReader(stdout).ReadString('\n'); err == nil {
		_, err := io.WriteString(out, line)
		return 0, err
	}
	_ = cmd.Wait()
	return max(1, cmd.ProcessState.ExitCode()), nil
}

// CloseTerminal redirects this process's standard error into the sandbox's log.
// The reader of standard error then sees its end, and need not wait until the
// sandbox stops.
func CloseTerminal(dir string) error {
	path := workdir.Log(dir)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	log, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	return unix.Dup3(int(log.Fd()), int(os.Stderr.Fd()), 0)
}
