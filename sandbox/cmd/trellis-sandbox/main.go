// SPDX-License-Identifier: Apache-2.0

// Command trellis-sandbox runs real Kubernetes clusters with simulated nodes:
// a garden and seed, and shoots, without containers and without root. As root it
// also runs real nodes.
//
// It is many programs in one. A process that a sandbox starts is one of the
// components. Called by the name kubectl it is kubectl. Otherwise it is the
// command line.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/pflag"

	"github.com/trellis-network/trellis/sandbox/internal/component"
	"github.com/trellis-network/trellis/sandbox/internal/options"
	"github.com/trellis-network/trellis/sandbox/internal/process"
)

// Exit statuses of the command line. Kubectl and the components have their own.
const (
	exitFailed  = 1
	exitInvalid = 2
)

func main() {
	os.Exit(dispatch())
}

func dispatch() int {
	called := filepath.Base(os.Args[0])
	if process.IsComponent() {
		process.HoldLifeline()
		if run, found := component.Named(called); found {
			return run()
		}
	}
	if called == kubectlName {
		return component.Kubectl()
	}
	if len(os.Args) > 1 && os.Args[1] == kubectlName {
		os.Args = os.Args[1:]
		return component.Kubectl()
	}
	return commandLine()
}

func commandLine() int {
	// Kubernetes' packages add their flags to every program that imports them.
	pflag.CommandLine = pflag.NewFlagSet(os.Args[0], pflag.ContinueOnError)
	err := newRoot().Execute()
	var status exitStatus
	switch {
	case err == nil:
		return 0
	case asStatus(err, &status):
		return int(status)
	}
	fmt.Fprintf(os.Stderr, "trellis-sandbox: %v\n", err)
	if options.IsInvalid(err) {
		return exitInvalid
	}
	return exitFailed
}
