package process

import (
	"io"
	"os"
	"strconv"
)

// lifelineVariable tells a component which file descriptor its lifeline is.
const lifelineVariable = "TRELLIS_SANDBOX_LIFELINE"

// A lifeline is a pipe. The supervisor alone holds the end for writing and
// never writes; every component holds the end for reading. When the supervisor
// is gone, even by SIGKILL, the kernel closes its end, and each component reads
// the end of the file.

// IsComponent tells whether this process was started by a Group.
func IsComponent() bool { return os.Getenv(lifelineVariable) != "" }

// HoldLifeline ends this process at once when its supervisor is gone. It
// returns immediately and is to be called first of all in a component.
func HoldLifeline() {
	descriptor, err := strconv.Atoi(os.Getenv(lifelineVariable))
	if err != nil {
		return
	}
	// What the component itself starts is no component.
	_ = os.Unsetenv(lifelineVariable)
	lifeline := os.NewFile(uintptr(descriptor), "lifeline")
	go func() {
		_, _ = io.Copy(io.Discard, lifeline)
		os.Exit(1)
	}()
}
