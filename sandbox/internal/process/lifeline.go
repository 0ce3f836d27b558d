// SPDX-License-Identifier: Apache-2.0

package process

import (
	"io"
	"os"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// lifelineVariable tells a component which file descriptor its lifeline is.
const lifelineVariable = "TRELLIS_SANDBOX_LIFELINE"

// lifelineOf is the descriptor of this process's lifeline, or 0.
var lifelineOf int

// A lifeline is a pipe. Only the supervisor holds the writing end, and it never
// writes. Every component holds the reading end. When the supervisor ends, even by
// SIGKILL, the kernel closes the writing end, and each component reads the end of
// the file.

// IsComponent reports whether a Group has started this process.
func IsComponent() bool { return os.Getenv(lifelineVariable) != "" }

// HoldLifeline ends this process as soon as its supervisor has ended. It returns
// immediately. A component must call it before anything else.
func HoldLifeline() {
	descriptor, err := strconv.Atoi(os.Getenv(lifelineVariable))
	if err != nil {
		return
	}
	// Processes that the component itself starts are not components.
	_ = os.Unsetenv(lifelineVariable)
	lifelineOf = descriptor
	syscall.CloseOnExec(descriptor)
	lifeline := os.NewFile(uintptr(descriptor), "lifeline")
	go func() {
		_, _ = io.Copy(io.Discard, lifeline)
		os.Exit(1)
	}()
}

// Become replaces the program of this process by this same program, called by the name of
// another component. It keeps the lifeline. The new program is in the namespaces of the
// calling thread. Become returns only with an error.
func Become(component string, args []string) error {
	executable, err := os.Executable()
	if err != nil {
		return err
	}
	if _, err := unix.FcntlInt(uintptr(lifelineOf), unix.F_SETFD, 0); err != nil {
		return err
	}
	env := append(os.Environ(), lifelineVariable+"="+strconv.Itoa(lifelineOf))
	return syscall.Exec(executable, append([]string{component}, args...), env)
}
