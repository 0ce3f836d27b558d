// SPDX-License-Identifier: Apache-2.0

package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/trellis-network/trellis/cli"
	"github.com/trellis-network/trellis/plugins"
	"github.com/trellis-network/trellis/providers"
)

// FuzzEveryInputGetsAnAnswer calls the program as it is, with all its plugins:
// whatever the input, it is rendered or refused, and validate agrees.
func FuzzEveryInputGetsAnAnswer(f *testing.F) {
	files, err := filepath.Glob("../../examples/*.yaml")
	if err != nil || len(files) == 0 {
		f.Fatalf("no examples to begin with: %v", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text))
	}
	f.Fuzz(func(t *testing.T, input string) {
		call := func(args ...string) int {
			streams := cli.Streams{In: strings.NewReader(input), Out: io.Discard, Err: io.Discard}
			return cli.Run(args, streams, plugins.All(), providers.All())
		}
		render := call("render", "--mode=standalone", "-f", "-")
		validate := call("validate", "-f", "-")
		if render > cli.ExitInvalid || validate > cli.ExitInvalid {
			t.Fatalf("render says %d, validate %d; what is wrong with an input is said with %d", render, validate, cli.ExitInvalid)
		}
		if render == cli.ExitOK && validate != cli.ExitOK {
			t.Fatal("rendered, although it is invalid")
		}
	})
}
