// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"github.com/spf13/cobra"

	"github.com/trellis-network/trellis/pipeline"
)

func newValidate(p *pipeline.Pipeline) *cobra.Command {
	var in input
	var origins bool
	cmd := &cobra.Command{
		Use:   "validate -f FILE",
		Short: "Say whether networks are valid, and what is wrong where",
		Long: `Say whether networks are valid. Each problem stands on a line of its own, with
the path of the field, its value and what is allowed; warnings are what works
but may surprise. Everything is printed to standard output.
` + inputHelp + `

The Network of a running cluster, with its status, and a dumped Request are also
compared with what was applied there last. Each value that changes has a line
with the class of the change and the reason for it: safe, rolling (workloads
restart node after node, and traffic goes on), or disruptive (traffic is
interrupted). What the network would not survive is forbidden, and an error.`,
		Example: `  trellis validate -f shoot.yaml
  kubectl get shoot mine -o yaml | trellis validate -f -
  trellis validate -f network.yaml -f shoot.yaml
  trellis validate --request request.json`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return validate(cmd, p, &in, origins) },
	}
	in.addFlags(cmd, p)
	in.addRequestFlag(cmd)
	addOriginsFlag(cmd, &origins, "standard output")
	return cmd
}

func validate(cmd *cobra.Command, p *pipeline.Pipeline, in *input, origins bool) error {
	works, problems, err := in.load(cmd, p)
	if err != nil {
		return err
	}
	report := &reporter{to: cmd.OutOrStdout(), manyFiles: in.manyFiles()}
	report.problems(problems)
	valid := len(problems) == 0
	for i := range works {
		result := p.Build(works[i].request)
		report.findings(&works[i], &result)
		report.verdict(&works[i], &result)
		report.changes(&works[i], &result)
		if origins {
			report.origins(&result)
		}
		valid = valid && len(result.Errors) == 0
	}
	if report.err == nil && !valid {
		return errInvalid
	}
	return report.err
}
