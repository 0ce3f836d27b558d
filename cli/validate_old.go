// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/trellis-network/trellis/cli/internal/manifest"
	"github.com/trellis-network/trellis/pipeline"
)

// validateUpdates reports what trellis-admission answers to updates of the Shoots in a file.
func validateUpdates(cmd *cobra.Command, p *pipeline.Pipeline, in *input, oldFile string) error {
	if err := in.checkOperatorFlags(cmd, p); err != nil {
		return err
	}
	if len(in.files) == 0 {
		return errNoInput
	}
	if oldFile == stdin && slices.Contains(in.files, stdin) {
		return errStdinTwice
	}
	in.workerless = true
	olds, oldProblems, err := in.read(cmd, p, []string{oldFile})
	if err != nil {
		return err
	}
	subjects, problems, err := in.read(cmd, p, in.files)
	if err != nil {
		return err
	}
	if err := in.cluster.check(cmd, subjects); err != nil {
		return err
	}
	report := &reporter{to: cmd.OutOrStdout(), manyFiles: true}
	report.problems(slices.Concat(oldProblems, problems))
	valid := len(oldProblems) == 0 && len(problems) == 0
	for _, subject := range subjects {
		before, err := shootBefore(subject, olds)
		if err != nil {
			valid = false
			report.line("error", subject.Source.Label(true, false), err.Error())
			continue
		}
		one, result := in.review(p, before, subject)
		report.findings(one, result)
		report.verdict(one, result)
		report.stated(one)
		report.dataPath(result)
		valid = valid && len(result.Errors) == 0
	}
	if report.err == nil && !valid {
		return errInvalid
	}
	return report.err
}

// shootBefore finds the Shoot that another one is an update of.
func shootBefore(subject *manifest.Subject, olds []*manifest.Subject) (*manifest.Subject, error) {
	if subject.Author != pipeline.AuthorShoot {
		return nil, errors.New("is no Shoot, and --old compares Shoots; trellis plan compares Networks")
	}
	at := slices.IndexFunc(olds, func(old *manifest.Subject) bool {
		return old.Author == pipeline.AuthorShoot && old.String() == subject.String()
	})
	if at < 0 {
		return nil, fmt.Errorf("the input of --old has no %s; leave --old out for a Shoot that is created", subject)
	}
	return olds[at], nil
}

// review returns the answer of trellis-admission. What the manifest lacks of what an API server
// and trellis-admission have added comes from the Shoot before the update.
func (in *input) review(p *pipeline.Pipeline, before, subject *manifest.Subject) (*candidate, *pipeline.Result) {
	one := &candidate{source: subject.Source, name: subject.String()}
	one.request.Spec.Type = subject.Network.Spec.Type
	result := &pipeline.Result{}
	shoot, err := withStated(p, before.Shoot, (&running{shoot: before.Shoot}).complete(subject.Shoot), in.environment())
	if err == nil {
		if shoot.DeletionTimestamp == nil { // users cannot change it
			shoot.DeletionTimestamp = before.Shoot.DeletionTimestamp
		}
		updated := shoot.DeepCopy()
		if one.warnings, err = p.DefaultShoot(before.Shoot, shoot, in.environment()); err == nil {
			one.stated, err = addedTo(updated, shoot)
		}
	}
	if err != nil {
		result.Errors = field.ErrorList{field.InternalError(field.NewPath("spec"), err)}
		return one, result
	}
	review := p.ReviewShoot(before.Shoot, shoot, in.environment())
	result.Errors, result.Warnings, result.DataPath = review.Errors, review.Warnings, review.DataPath
	return one, result
}
