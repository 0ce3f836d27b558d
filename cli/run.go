// SPDX-License-Identifier: Apache-2.0

// Package cli is the command line trellis. It validates manifests, renders the objects
// of a network, and shows what a change does, with the same pipeline as the operator. It
// reads clusters for plan --live, takeover, status and connectivity, and never writes to one. The author
// of an operator with other plugins calls Run to get a command line for them.
//
// It knows no plugin and no infrastructure by name.
package cli

import (
	"errors"
	"fmt"
	"io"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/trellis-network/trellis/cli/internal/text"
	"github.com/trellis-network/trellis/internal/request"
	"github.com/trellis-network/trellis/pipeline"
	"github.com/trellis-network/trellis/plugin"
)

// The exit statuses.
const (
	ExitOK          = 0 // the command succeeded
	ExitInvalid     = 1 // the input is invalid, and the command has reported why
	ExitCouldNotRun = 2 // a flag is wrong, or the command could not read its input or write its output
)

// The exit statuses of plan, beside ExitOK for no changes, and ExitInvalid.
const (
	ExitChanges      = 2 // changes, none of which is known to interrupt traffic
	ExitDisruptive   = 3 // changes that interrupt traffic, or may do so
	ExitCouldNotPlan = 4 // ExitCouldNotRun, which a script must not take for a harmless change
)

// exitHelp is part of the help of each command but those that have their own.
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
	var status exitStatus
	var failure *ioError
	switch {
	case err == nil:
		return ExitOK
	case errors.As(err, &status):
		return int(status)
	case errors.As(err, &failure):
		fmt.Fprintln(streams.Err, text.Printable("Error: "+err.Error()))
	default:
		fmt.Fprintf(streams.Err, "Error: %s\nSee '%s --help'.\n", text.Printable(err.Error()), command.CommandPath())
	}
	if command.Name() == planName {
		return ExitCouldNotPlan
	}
	return ExitCouldNotRun
}

// exitStatus ends a command that has reported the reason.
type exitStatus int

// Error implements error.
func (s exitStatus) Error() string { return fmt.Sprintf("exit status %d", int(s)) }

// errInvalid ends a command that has reported that its input is invalid.
var errInvalid error = exitStatus(ExitInvalid)

// ioError is a failure to read or to write, for which Run shows no usage.
type ioError struct{ error }

func newCommand(p *pipeline.Pipeline) *cobra.Command {
	root := &cobra.Command{
		Use:   "trellis",
		Short: "Validate, render, compare and observe pod networks",
		Long: `Validate, render and compare pod networks, without a cluster, and show how those of
a seed are.

The input is a Shoot, the Network that Gardener derives from it, or both. The
operator runs the same code, so it gives the same objects and the same errors. status,
connectivity, takeover and plan --live read clusters; no command writes to one.` + exitHelp + `

plan, status, takeover and connectivity have exit statuses of their own: see their --help.`,
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.SetFlagErrorFunc(flagError)
	root.AddCommand(newValidate(p), newRender(p), newPlan(p), newRequest(p), newStatus(p), newTakeover(p), newConnectivity(), newExplain(p), newSchema(p), newVersion())
	return root
}

func newVersion() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version of this program",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return written(fmt.Fprintf(cmd.OutOrStdout(), "trellis %s, %s\n", request.Version(), runtime.Version()))
		},
	}
}
