// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"io"
	"os"

	"golang.org/x/term"
)

// terminal is where a command writes to.
type terminal struct {
	to io.Writer
	// isOne reports whether it is a terminal. Then it has this many characters a line, and lines.
	isOne         bool
	width, height int
}

// terminalOf looks at what the output is now: users change the size of terminals.
func terminalOf(to io.Writer) terminal {
	if file, isFile := to.(*os.File); isFile && term.IsTerminal(int(file.Fd())) {
		width, height, err := term.GetSize(int(file.Fd()))
		return terminal{to, err == nil && width > 0 && height > 0, width, height}
	}
	return terminal{to: to}
}

// isTerminal reports whether to is a terminal whose user has not set NO_COLOR.
func isTerminal(to io.Writer) bool { return os.Getenv("NO_COLOR") == "" && terminalOf(to).isOne }
