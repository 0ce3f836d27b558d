// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"maps"
	"slices"
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
lists the fields of a network type, and how packets travel in a new Shoot that says
nothing of them, as trellis-admission completes it. Without TYPE, it lists the network
types.

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
			text, err := explained(p, args[0])
			return answer(cmd, text, err)
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
			text, err := schemaOf(p, args[0])
			return answer(cmd, string(text), err)
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

func schemaOf(p *pipeline.Pipeline, networkType string) ([]byte, error) {
	one, err := pluginFor(p, networkType)
	if err != nil {
		return nil, err
	}
	return explain.Schema(&one)
}

// explained returns the page about a network type, or about one of its fields.
func explained(p *pipeline.Pipeline, argument string) (string, error) {
	networkType, path, _ := strings.Cut(argument, ".")
	if networkType == "spec" {
		return "", fmt.Errorf("the network type is missing: write %s.%s", strings.Join(p.Types(), "|"), inConfig(argument))
	}
	one, err := pluginFor(p, networkType)
	if err != nil {
		return "", err
	}
	config, err := explain.Of(&one)
	if err != nil {
		return "", err
	}
	found, err := config.Field(inConfig(path))
	if err != nil {
		return "", err
	}
	var packets []string
	if found.Path == "" {
		packets = packetsByDefault(p, one.Type)
	}
	return page(one.Type, found, packets), nil
}

// packetsByDefault returns how packets travel in the network of a new Shoot whose user says nothing of
// it, as trellis-admission completes the Shoot: first where nothing is known of the infrastructure,
// then on those where it is otherwise.
func packetsByDefault(p *pipeline.Pipeline, networkType string) []string {
	usual := packetsOn("", p, networkType)
	if usual == "" {
		return nil
	}
	places := map[string][]string{}
	for _, infrastructure := range p.Infrastructures() {
		if line := packetsOn(infrastructure, p, networkType); line != usual && line != "" {
			places[line] = append(places[line], infrastructure)
		}
	}
	lines := []string{usual}
	for _, line := range slices.Sorted(maps.Keys(places)) {
		lines = append(lines, fmt.Sprintf("on %s: %s", strings.Join(places[line], ", "), line))
	}
	return lines
}

func packetsOn(infrastructure string, p *pipeline.Pipeline, networkType string) string {
	shoot := (&clusterFlags{kubeProxy: true, provider: infrastructure}).shoot()
	shoot.Spec.Networking.Type = &networkType
	if _, err := p.DefaultShoot(nil, shoot, plugin.Environment{}); err != nil {
		return ""
	}
	network, err := pipeline.NetworkForShoot(shoot)
	if err != nil {
		return ""
	}
	result := p.Build(p.NewRequest(network, shoot, plugin.Environment{}))
	return result.DataPath
}

// The path of the NetworkConfig in a Shoot, in a Network, and in messages about one that stands
// alone.
const (
	inShoot   = "spec.networking.providerConfig"
	inNetwork = "spec.providerConfig"
	alone     = "providerConfig"
)

// inConfig returns the path of a field in the NetworkConfig, also from that in a Shoot or Network.
func inConfig(path string) string {
	for _, prefix := range []string{inShoot, inNetwork, alone} {
		if rest, found := strings.CutPrefix(path, prefix); found && (rest == "" || rest[0] == '.') {
			return strings.TrimPrefix(rest, ".")
		}
	}
	return path
}

func pluginFor(p *pipeline.Pipeline, networkType string) (plugin.Plugin, error) {
	one, has := p.Plugin(networkType)
	if has {
		return one, nil
	}
	return one, fmt.Errorf("unknown network type %q (known: %s)%s", fielderror.Abbreviate(networkType), strings.Join(p.Types(), ", "),
		fielderror.DidYouMean(p.Types(), networkType))
}

// answer prints a text, or the error in the command's arguments.
func answer(cmd *cobra.Command, text string, err error) error {
	if err == nil {
		return written(fmt.Fprint(cmd.OutOrStdout(), text))
	}
	return (&reporter{to: cmd.ErrOrStderr()}).refuse("", err.Error())
}

// written returns the error of writing the output.
func written(_ int, err error) error {
	if err != nil {
		return &ioError{err}
	}
	return nil
}
