// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/trellis-network/trellis/pipeline"
	"github.com/trellis-network/trellis/plugin"
)

// The exit statuses.
const (
	// ExitOK means that the command succeeded.
	ExitOK = 0
	// ExitInvalid means that the input is invalid, and that the command has reported why.
	ExitInvalid = 1
	// ExitCouldNotRun means that a flag is wrong, or that the command could not read its
	// input or write its output.
	ExitCouldNotRun = 2
)

// The exit statuses of plan, beside ExitOK for no changes, and ExitInvalid.
const (
	// ExitChanges means that there are changes, none of which is known to interrupt
	// traffic.
	ExitChanges = 2
	// ExitDisruptive means that there are changes which interrupt traffic, or may do so.
	ExitDisruptive = 3
	// ExitCouldNotPlan is plan's ExitCouldNotRun, so that a script cannot take a failure
	// for a harmless change.
	ExitCouldNotPlan = 4
)

// exitHelp is part of the help of each command except plan, which has its own.
const exitHelp = `

Exit status:
  0  the command succeeded
  1  the input is invalid
  2  the command could not run: a wrong flag, or a file that it could not read or write`

// Streams are what a command reads from and writes to.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
}

// Run runs the command line with the given arguments, which do not include the
// program's name, and returns the exit status.
func Run(args []string, streams Streams, plugins []plugin.Plugin, providers []plugin.Provider) int {
	built, err := pipeline.New(plugins, providers)
	if err != nil {
		fmt.Fprintln(streams.Err, "Error:", err)
		return ExitCouldNotRun
	}
	root := newCommand(built)
	root.SetArgs(args)
	root.SetIn(streams.In)
	root.SetOut(streams.Out)
	root.SetErr(streams.Err)
	command, err := root.ExecuteC()
	var failure *ioError
	var outcome planOutcome
	switch {
	case err == nil:
		return ExitOK
	case errors.As(err, &outcome):
		return int(outcome)
	case errors.Is(err, errInvalid):
		return ExitInvalid
	case errors.As(err, &failure):
		fmt.Fprintln(streams.Err, "Error:", err)
	default:
		fmt.Fprintf(streams.Err, "Error: %v\nSee '%s --help'.\n", err, command.CommandPath())
	}
	if command.Name() == planName {
		return ExitCouldNotPlan
	}
	return ExitCouldNotRun
}

// errInvalid ends a command that has reported that its input is invalid.
var errInvalid = errors.New("the input is invalid")

// ioError is a failure to read or to write, for which Run shows no usage.
type ioError struct{ error }

func (e *ioError) Unwrap() error { return e.error }

func newCommand(p *pipeline.Pipeline) *cobra.Command {
	root := &cobra.Command{
		Use:   "trellis",
		Short: "Validate, render and compare pod networks",
		Long: `Validate, render and compare pod networks, without a cluster.

The input is a Shoot, the Network that Gardener derives from it, or both. The
operator runs the same code, so it gives the same objects and the same errors.` + exitHelp + `

plan has exit statuses of its own: see 'trellis plan --help'.`,
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.AddCommand(newValidate(p), newRender(p), newPlan(p), newRequest(p), newExplain(p), newSchema(p), newVersion())
	return root
}
