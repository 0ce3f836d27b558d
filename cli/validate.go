// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"github.com/spf13/cobra"

	"github.com/trellis-network/trellis/pipeline"
)

func newValidate(p *pipeline.Pipeline) *cobra.Command {
	var in input
	var origins bool
	var old string
	cmd := &cobra.Command{
		Use:   "validate {FILE | -f FILE}",
		Short: "Report whether networks are valid, and the errors of those that are not",
		Long: `Report whether networks are valid. Each error and each warning is a line with the
path of the field, its value and the allowed values. Of a valid network a line states
how packets between pods on different nodes travel, and what makes the routes. validate
prints everything to standard output.

If the input has the status of a Network, or is a dumped Request, validate also
compares the network with the one that was applied last. Each changed value is a
line with the class of the change and the reason:
  safe        no effect on traffic
  rolling     workloads restart node by node while traffic continues
  disruptive  traffic is interrupted
  forbidden   the running network would break; this is an error

A Shoot that does not exist yet is checked as trellis-admission answers its creation.

With --old, validate reports what trellis-admission answers to the update of a Shoot:
what was wrong before is a warning, and so is a change that restarts workloads or
interrupts traffic. What the manifest lacks, such as the status, the ranges that
Gardener chose, and what trellis-admission stated at creation, comes from the old Shoot.` + inputHelp + exitHelp,
		Example: `  trellis validate -f shoot.yaml
  kubectl get shoot mine -o yaml | trellis validate -f -
  trellis validate -f network.yaml -f shoot.yaml
  trellis validate -f networkconfig.yaml --provider TYPE --kube-proxy=false
  trellis validate new.yaml --old old.yaml
  trellis validate --request request.json`,
		RunE: func(cmd *cobra.Command, args []string) error {
			in.files = append(in.files, args...)
			if old != "" {
				return validateUpdates(cmd, p, &in, old)
			}
			return validate(cmd, p, &in, origins)
		},
	}
	in.addFlags(cmd, p)
	in.addRequestFlag(cmd)
	addOriginsFlag(cmd, &origins, "standard output")
	cmd.Flags().StringVar(&old, "old", "", "`FILE` with the Shoots before the update, - for standard input")
	cmd.MarkFlagsMutuallyExclusive("old", "request")
	cmd.MarkFlagsMutuallyExclusive("old", "show-origins")
	return cmd
}

func validate(cmd *cobra.Command, p *pipeline.Pipeline, in *input, origins bool) error {
	candidates, problems, err := in.load(cmd, p)
	if err != nil {
		return err
	}
	report := &reporter{to: cmd.OutOrStdout(), manyFiles: len(in.files) > 1}
	report.problems(problems)
	valid := len(problems) == 0
	for _, one := range candidates {
		result := p.Build(one.request)
		report.findings(one, &result)
		report.verdict(one, &result)
		report.stated(one)
		report.dataPath(&result)
		report.changes(one, &result)
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
