// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/trellis-network/trellis/pipeline"
	"github.com/trellis-network/trellis/plugin"
)

func newRender(p *pipeline.Pipeline) *cobra.Command {
	var in input
	var target string
	var origins bool
	out := output{format: formatYAML}
	cmd := &cobra.Command{
		Use:   "render -f FILE",
		Short: "Print the objects of a network",
		Long: `Print the objects of one network as the operator applies them, to standard output.
Errors, warnings, changes and what trellis-admission states go to standard error.` + inputHelp + exitHelp,
		Example: `  trellis render -f shoot.yaml
  trellis render -f shoot.yaml --target seed -o json
  trellis render -f shoot.yaml -o dir=before
  trellis render -f shoot.yaml --show-origins >/dev/null
  trellis render --request request.json`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return render(cmd, p, &in, &out, target, origins) },
	}
	in.addFlags(cmd, p)
	in.addRequestFlag(cmd)
	addChoice(cmd.Flags(), &target, "target", "", "`CLUSTER` of the objects: shoot or seed", string(plugin.Shoot), string(plugin.Seed))
	addFlag(cmd.Flags(), "output", "o", out.format, "`FORMAT`: yaml (a stream of documents), json (a v1 List), or dir=PATH (one YAML file\nfor each object)", out.set)
	addOriginsFlag(cmd, &origins, "standard error")
	return cmd
}

func render(cmd *cobra.Command, p *pipeline.Pipeline, in *input, out *output, target string, origins bool) error {
	candidates, problems, err := in.load(cmd, p)
	if err != nil {
		return err
	}
	report := &reporter{to: cmd.ErrOrStderr(), manyFiles: len(in.files) > 1}
	one, err := single(candidates, problems, report)
	if err != nil {
		return err
	}
	result := p.Build(one.request)
	report.findings(one, &result)
	report.stated(one)
	if origins {
		defer report.origins(&result) // below the objects, where a terminal shows them
	}
	if len(result.Errors) > 0 {
		report.verdict(one, &result)
		report.changes(one, &result)
		return errInvalid
	}
	report.changes(one, &result)
	objects := result.Objects.For(plugin.Target(target))
	if len(objects) == 0 {
		report.print(fmt.Sprintf("%s: the network has no objects in the %s", one.name, target))
	}
	leftAlone, err := out.write(cmd.OutOrStdout(), objects)
	if err != nil {
		return &ioError{err}
	}
	if len(leftAlone) > 0 {
		report.line("warning", "", fmt.Sprintf("directory %s has %s that render did not write: %s",
			out.directory, count(len(leftAlone), "file"), listed(leftAlone)))
	}
	return nil
}
