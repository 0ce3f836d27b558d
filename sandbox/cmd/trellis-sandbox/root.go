// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/trellis-network/trellis/sandbox/internal/options"
	"github.com/trellis-network/trellis/sandbox/internal/versions"
)

const kubectlName = "kubectl"

// exitStatus is an error that the user has already seen.
type exitStatus int

// Error implements error.
func (s exitStatus) Error() string { return fmt.Sprintf("exit status %d", int(s)) }

func asStatus(err error, status *exitStatus) bool { return errors.As(err, status) }

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "trellis-sandbox",
		Short: "Real Kubernetes clusters with simulated nodes, without containers and without root, or with real ones",
		Long: `trellis-sandbox runs a garden and seed and any number of shoot clusters on this
machine: a real etcd, and real kube-apiservers, kube-controller-managers and
kube-schedulers. Only the nodes are simulated: pods are admitted, scheduled and
become Ready, but no container runs. As root, and with --nodes real:N, nodes are
real too, and pods reach each other over a network that a user installs.`,
		Example: `  trellis-sandbox up --shoot garden-dev/johndoe-azure --nodes 3
  trellis-sandbox up --shoots 2 --user alice=developers --detach --dir /tmp/landscape
  trellis-sandbox kubectl --kubeconfig /tmp/landscape/kubeconfigs/seed/admin.kubeconfig get namespaces
  trellis-sandbox down --dir /tmp/landscape`,
		Args:          cobra.ArbitraryArgs,
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE:          help,
	}
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return options.Invalidf("%v; see `%s --help`", err, cmd.CommandPath())
	})
	root.AddCommand(newUp(), newDown(), newNode(), newCheck(), newKubectl(), newVersion())
	return root
}

// help runs when no command is given, or an unknown one.
func help(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return cmd.Help()
	}
	var names []string
	for _, sub := range cmd.Commands() {
		names = append(names, sub.Name())
	}
	return options.Invalidf("there is no command %q; there are %s", args[0], strings.Join(names, ", "))
}

// noArguments rejects arguments that are not flags.
func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return options.Invalidf("%s takes no argument, but got %q; see `%s --help`", cmd.Name(), args[0], cmd.CommandPath())
	}
	return nil
}

// invalid makes the error of check an options.Invalid.
func invalid(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if err := check(cmd, args); err != nil {
			return options.Invalidf("%s %v; see `%s --help`", cmd.Name(), err, cmd.CommandPath())
		}
		return nil
	}
}

// newKubectl makes the help list kubectl. It never runs: dispatch starts kubectl
// before any flag is parsed.
func newKubectl() *cobra.Command {
	return &cobra.Command{
		Use:                kubectlName,
		Short:              "Run kubectl (so does this program when it is called by that name)",
		DisableFlagParsing: true,
		Run:                func(*cobra.Command, []string) {},
	}
}

func newVersion() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the versions of Kubernetes, etcd, kwok and Go",
		Args:  noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintln(cmd.OutOrStdout(), versions.Text())
			return err
		},
	}
}
