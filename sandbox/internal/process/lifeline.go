// SPDX-License-Identifier: Apache-2.0

package process

import (
	"io"
	"os"
	"strconv"
)

// lifelineVariable tells a component which file descriptor its lifeline is.
const lifelineVariable = "TRELLIS_SANDBOX_LIFELINE"

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
	lifeline := os.NewFile(uintptr(descriptor), "lifeline")
	go func() {
		_, _ = io.Copy(io.Discard, lifeline)
		os.Exit(1)
	}()
}
