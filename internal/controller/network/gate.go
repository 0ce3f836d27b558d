// SPDX-License-Identifier: Apache-2.0

package network

import (
	"context"
	"errors"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/trellis-network/trellis/internal/bundle"
	"github.com/trellis-network/trellis/internal/gate"
	"github.com/trellis-network/trellis/internal/outcome"
	"github.com/trellis-network/trellis/pipeline"
)

// gatekeeper asks gates.
type gatekeeper struct {
	gates    []gate.Gate
	requests *requests
}

// gate asks all gates whether what was built may be written now.
func (k gatekeeper) gate(ctx context.Context, run *run) outcome.Outcome {
	if !run.writes() || run.held {
		return outcome.Continue()
	}
	plan := gate.Plan{
		Network: run.Network, Shoot: run.Shoot, Built: &run.built, Exchange: run.changesType,
		Present: func(ctx context.Context) ([]unstructured.Unstructured, bool, error) { return k.present(ctx, run) },
	}
	for _, each := range k.gates {
		verdict, err := each.Check(ctx, plan)
		if err = errors.Join(err, verdict.Closed); err != nil {
			return outcome.TryAgain(err, k.requests.codes.of(err)...)
		}
	}
	return outcome.Continue()
}

// present returns the objects that the shoot has: those of the bundles or, where these are
// missing, as after a restoration, those of what was applied last. Where neither tells,
// the shoot may have a network of which nothing is known.
func (k gatekeeper) present(ctx context.Context, run *run) (objects []unstructured.Unstructured, known bool, err error) {
	if run.IsPresent() {
		objects, err = run.Present(ctx, k.requests.live)
		return objects, err == nil, err
	}
	applied := run.State.Applied
	if applied == nil || applied.Accepted == nil {
		return nil, false, nil
	}
	built, err := k.requests.buildAgain(ctx, run, applied)
	if err != nil || len(built.Errors) > 0 {
		return nil, false, errors.Join(err, built.Errors.ToAggregate())
	}
	for _, each := range built.Objects.Bundles {
		if !each.Await {
			continue
		}
		documents, err := pipeline.Documents(each.Objects)
		if err != nil {
			return nil, false, err
		}
		decoded, _ := bundle.Decode("", map[string][]byte{"": documents})
		for _, object := range decoded {
			objects = append(objects, *object)
		}
	}
	return objects, true, nil
}
