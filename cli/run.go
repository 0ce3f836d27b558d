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
	// ExitOK means that all was well.
	ExitOK = 0
	// ExitInvalid means that the input is at fault, and that it was said why.
	ExitInvalid = 1
	// ExitCouldNotRun means that flags are wrong, or that something could not be
	// read or written.
	ExitCouldNotRun = 2
)

// The exit statuses that plan has beside ExitOK, for nothing changes, and ExitInvalid.
const (
	// ExitChanges means that something changes, and nothing that is known to interrupt
	// traffic.
	ExitChanges = 2
	// ExitDisruptive means that something changes which interrupts traffic, or may.
	ExitDisruptive = 3
	// ExitCouldNotPlan is what others say with ExitCouldNotRun, so that no trouble is
	// taken for a harmless change.
	ExitCouldNotPlan = 4
)

// Streams are what a command reads from and writes to.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
}

// Run runs the command line with these arguments, without the program's name,
// and returns the exit status.
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
	var trouble *ioError
	var outcome planOutcome
	switch {
	case err == nil:
		return ExitOK
	case errors.As(err, &outcome):
		return int(outcome)
	case errors.Is(err, errInvalid):
		return ExitInvalid
	case errors.As(err, &trouble):
		fmt.Fprintln(streams.Err, "Error:", err)
	default:
		fmt.Fprintf(streams.Err, "Error: %v\nSee '%s --help'.\n", err, command.CommandPath())
	}
	if command.Name() == planName {
		return ExitCouldNotPlan
	}
	return ExitCouldNotRun
}

// errInvalid says that the input is at fault; the command has reported it.
var errInvalid = errors.New("the input is invalid")

// ioError is a failure to read or to write, which is nobody's spelling mistake.
type ioError struct{ error }

func (e *ioError) Unwrap() error { return e.error }

func newCommand(p *pipeline.Pipeline) *cobra.Command {
	root := &cobra.Command{
		Use:   "trellis",
		Short: "Check pod networks and see what they consist of",
		Long: `Check pod networks and see what they consist of, before any cluster does.

The input is what users write (a Shoot), what Gardener makes of it (a Network),
or both. The answers are those of the operator: it runs the same code.

Exit status: 0 fine, 1 the input is invalid, 2 the command could not run; those of
plan stand in its help.`,
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.AddCommand(newValidate(p), newRender(p), newPlan(p), newRequest(p), newExplain(p), newSchema(p), newVersion())
	return root
}
