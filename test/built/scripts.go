// SPDX-License-Identifier: Apache-2.0

package built

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Scripts of containers run in a real shell, and the tools that they call are stubs
// which write down how they were called.

// Stub is a tool that logs its call in the file $CALLS and then runs body.
func Stub(body string) string {
	return "#!/bin/sh\necho \"${0##*/} $*\" >>\"$CALLS\"\n" + body + "\n"
}

// UntilSecondPause is a sleep that does not wait. At the second call it sends SIGTERM to
// the script.
var UntilSecondPause = Stub(`if [ -e "$CALLS.paused" ]; then kill -TERM "$PPID"; fi; : >"$CALLS.paused"`)

// Ran is what has come of a script.
type Ran struct {
	// Calls are those of its tools, in their order.
	Calls []string
	// Output is what it has written to standard output and standard error.
	Output string
	// Err is how it has failed.
	Err error
}

// Run runs a command with nothing but these tools, by their names, and this environment.
func Run(t *testing.T, command []string, tools map[string]string, env ...string) Ran {
	t.Helper()
	folder := t.TempDir()
	calls := filepath.Join(folder, "calls")
	for name, body := range tools {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(body), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	script := exec.Command(command[0], command[1:]...)
	script.Env = append(env, "PATH="+folder, "CALLS="+calls)
	output, err := script.CombinedOutput()
	raw, readErr := os.ReadFile(calls)
	if readErr != nil && !errors.Is(readErr, fs.ErrNotExist) {
		t.Fatal(readErr)
	}
	return Ran{strings.FieldsFunc(string(raw), func(r rune) bool { return r == '\n' }), string(output), err}
}

// ResolvConf is the variable RESOLV_CONF with the path of a file of that content.
func ResolvConf(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "resolv.conf")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return "RESOLV_CONF=" + path
}
