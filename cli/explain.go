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
		Short: "Describe the fields of a NetworkConfig",
		Long: `Describe a field of a NetworkConfig: its type, the allowed values, the default, its
effect, and the effect of a change on a running network. Without FIELD, explain
lists the fields of a network type. Without TYPE, it lists the network types.

explain also takes the path from an error message about a Shoot or a Network:
TYPE.spec.networking.providerConfig.FIELD.` + exitHelp,
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
		Short: "Print the JSON schema of a NetworkConfig, for editors",
		Long: `Print the JSON schema (draft 7) of the NetworkConfig of a network type. With it an
editor completes fields, and marks wrong types, unknown fields and values that are
not allowed. Rules that depend on the cluster or on several fields are not part of
the schema; validate checks them.` + exitHelp,
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
	fmt.Fprintln(table, "TYPE\tCONFIG VERSION")
	for _, networkType := range p.Types() {
		one, _ := p.Plugin(networkType)
		fmt.Fprintf(table, "%s\t%s\n", networkType, one.ConfigVersions[0])
	}
	return written(0, table.Flush())
}

func explainField(cmd *cobra.Command, p *pipeline.Pipeline, argument string) error {
	networkType, path, _ := strings.Cut(argument, ".")
	if networkType == "spec" {
		return refuse(cmd, fmt.Errorf("the network type is missing: write %s.%s", strings.Join(p.Types(), "|"), inConfig(argument)))
	}
	one, err := pluginFor(p, networkType)
	if err != nil {
		return refuse(cmd, err)
	}
	config, err := explain.Of(&one)
	if err != nil {
		return refuse(cmd, err)
	}
	found, err := config.Field(inConfig(path))
	if err != nil {
		return refuse(cmd, err)
	}
	return written(fmt.Fprint(cmd.OutOrStdout(), page(one.Type, found)))
}

// The path of the NetworkConfig in a Shoot and in a Network.
const (
	inShoot   = "spec.networking.providerConfig"
	inNetwork = "spec.providerConfig"
)

// inConfig returns the path of a field in the NetworkConfig. It also takes the path in a
// Shoot or in a Network, which errors have.
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
		hint := ""
		if near := fielderror.Nearest(networkType, p.Types()); near != "" {
			hint = "; did you mean " + near + "?"
		}
		return one, fmt.Errorf("unknown network type %q (known: %s)%s", fielderror.Abbreviate(networkType), strings.Join(p.Types(), ", "), hint)
	}
	return one, nil
}

// refuse reports an error in a command's arguments.
func refuse(cmd *cobra.Command, err error) error {
	report := &reporter{to: cmd.ErrOrStderr()}
	report.line("error", "", err.Error())
	if report.err != nil {
		return report.err
	}
	return errInvalid
}

// written returns the error of writing the output.
func written(_ int, err error) error {
	if err != nil {
		return &ioError{err}
	}
	return nil
}
