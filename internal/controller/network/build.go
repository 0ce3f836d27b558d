// SPDX-License-Identifier: Apache-2.0

package network

import (
	"context"
	"errors"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trellis-network/trellis/internal/outcome"
)

// bundleBuilder has the pipeline build bundles.
type bundleBuilder struct {
	*requests
	cached client.Reader
}

// build builds what the spec asks for. What users can mend about it becomes run.refused.
func (b *bundleBuilder) build(ctx context.Context, run *run) outcome.Outcome {
	if !run.builds {
		return outcome.Continue()
	}
	if run.stateErr != nil {
		return outcome.TryAgain(run.stateErr)
	}
	if b.Standalone {
		run.State.ShootGeneration = run.Shoot.Generation
	}
	request, err := b.make(ctx, run)
	run.State.TakenOver = request.TakenOver
	if err != nil {
		return outcome.TryAgain(err, b.codes.of(err)...)
	}
	if run.continues {
		accepted := run.State.Written.Config.Accepted
		if at := run.State.Exchange; at != nil && at.Asked != nil {
			accepted = at.Asked
		}
		request = request.Again(accepted)
		b.dump(ctx, &request)
	}
	run.asked = request
	run.built = b.buildTypes(run)
	if run.refused = inOneLine(run.built.Errors); run.refused == nil {
		run.State.Exchange = run.exchange
	}
	return outcome.Continue()
}

// inOneLine returns all errors as a status shows them, nil if there are none.
func inOneLine(errs field.ErrorList) error {
	if len(errs) == 0 {
		return nil
	}
	lines := make([]string, len(errs))
	for i, err := range errs {
		lines[i] = err.Error()
	}
	return errors.New(strings.Join(lines, "; "))
}
