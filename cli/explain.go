// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/trellis-network/trellis/internal/explain"
	"github.com/trellis-network/trellis/internal/fielderror"
	"github.com/trellis-network/trellis/pipeline"
	"github.com/trellis-network/trellis/plugin"
)

func newExplain(p *pipeline.Pipeline) *cobra.Command {
	return &cobra.Command{
		Use:   "explain [TYPE[.FIELD...]]",
		Short: "Tell what the fields of a network's configuration mean",
		Long: `Tell what a field of a NetworkConfig means: its documentation, its type, what may
be written, what is in force if nothing is, and what a later change does to a
running network. Without a field, list the fields of a network type; without a
type, the network types.

Defaults and changes are found out by trying: in a cluster of which nothing else
is known (IPv4, with kube-proxy, on an infrastructure that allows everything), and
wherever an infrastructure or IPv6 makes a difference.

Fields are also found by the path that they have in a Shoot or a Network, as
errors have it: TYPE.spec.networking.providerConfig.FIELD.`,
		Example: `  trellis explain
  trellis explain TYPE
  trellis explain TYPE.FIELD.FIELD`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return listTypes(cmd, p)
			}
			return explainField(cmd, p, args[0])
		},
	}
}

func newSchema(p *pipeline.Pipeline) *cobra.Command {
	return &cobra.Command{
		Use:   "schema TYPE",
		Short: "Print the JSON schema of a network's configuration, for editors",
		Long: `Print the JSON schema (draft 7) of the NetworkConfig of a network type. With it an
editor completes fields and marks what validate refuses: wrong types, names that
do not exist, values that are not allowed. What depends on the cluster or on
other fields only validate can tell.`,
		Example: `  trellis schema TYPE > networkconfig.schema.json`,
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			one, err := pluginFor(p, args[0])
			if err != nil {
				return refuse(cmd, err)
			}
			text, err := explain.Schema(&one)
			if err != nil {
				return refuse(cmd, err)
			}
			return written(fmt.Fprint(cmd.OutOrStdout(), string(text)))
		},
	}
}

func listTypes(cmd *cobra.Command, p *pipeline.Pipeline) error {
	table := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 3, ' ', 0)
	fmt.Fprintln(table, "TYPE\tKIND\tAPI VERSION")
	for _, networkType := range p.Types() {
		one, _ := p.Plugin(networkType)
		fmt.Fprintf(table, "%s\tNetworkConfig\t%s\n", networkType, one.ConfigVersions[0])
	}
	return written(0, table.Flush())
}

func explainField(cmd *cobra.Command, p *pipeline.Pipeline, argument string) error {
	networkType, path, _ := strings.Cut(argument, ".")
	if networkType == "spec" {
		return refuse(cmd, fmt.Errorf("begin with the network type: %s.%s", strings.Join(p.Types(), "|"), inConfig(argument)))
	}
	one, err := pluginFor(p, networkType)
	if err != nil {
		return refuse(cmd, err)
	}
	var names []string
	if path = inConfig(path); path != "" {
		names = strings.Split(path, ".")
	}
	explainer, err := explain.New(p, &one)
	if err != nil {
		return refuse(cmd, err)
	}
	found, err := explainer.Of(names)
	if err != nil {
		return refuse(cmd, err)
	}
	return written(fmt.Fprint(cmd.OutOrStdout(), page(one.Type, found)))
}

// Where a config stands in what people write.
const (
	inShoot   = "spec.networking.providerConfig"
	inNetwork = "spec.providerConfig"
)

// inConfig is the path of a field in the config, of one as errors have it, too.
func inConfig(path string) string {
	for _, prefix := range []string{inShoot, inNetwork} {
		if rest, found := strings.CutPrefix(path, prefix); found && (rest == "" || rest[0] == '.') {
			return strings.TrimPrefix(rest, ".")
		}
	}
	return path
}

func pluginFor(p *pipeline.Pipeline, networkType string) (plugin.Plugin, error) {
	one, has := p.Plugin(networkType)
	if !has {
		there := "there are "
		if near := fielderror.Nearest(networkType, p.Types()); near != "" {
			there = "did you mean " + near + "? There are "
		}
		return one, fmt.Errorf("there is no network type %q; %s%s", fielderror.Abbreviate(networkType), there, strings.Join(p.Types(), ", "))
	}
	return one, nil
}

// refuse tells what is wrong with the words of a command.
func refuse(cmd *cobra.Command, err error) error {
	report := &reporter{to: cmd.ErrOrStderr()}
	report.line("error", "", err.Error())
	if report.err != nil {
		return report.err
	}
	return errInvalid
}

// written is the outcome of writing the output.
func written(_ int, err error) error {
	if err != nil {
		return &ioError{err}
	}
	return nil
}
