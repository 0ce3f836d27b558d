// SPDX-License-Identifier: Apache-2.0

package pairwise

import (
	"testing"

	"github.com/trellis-network/trellis/pipeline"
	"github.com/trellis-network/trellis/plugin"
)

// Whatever a network is and becomes, each step on the way is a network that the pipeline accepts, and none is
// disruptive after the one before it.
func TestEachStepBetweenAnyTwoCombinationsIsSound(t *testing.T) {
	for _, one := range subjects {
		t.Run(one.Type, func(t *testing.T) {
			t.Parallel()
			all := one.options(t)
			c := newCombinations(t, one.Type, all)
			rows, _ := Cover(dimensions(all), c.valid)
			var requests []pipeline.Request
			var results []pipeline.Result
			for _, row := range rows {
				request, err := scenarioOf(c.network, c.options, row).request(c.pipeline)
				if err != nil {
					t.Fatal(err)
				}
				requests, results = append(requests, request), append(results, c.pipeline.Build(request))
			}
			pairs, inSteps, taken := 0, 0, 0
			for i := range rows {
				for j := range rows {
					request := requests[j]
					request.Applied = results[i].Applied()
					result := c.pipeline.Build(request)
					if i == j || len(result.Errors) > 0 {
						continue
					}
					pairs++
					if result.Transition.IsNeeded() {
						inSteps++
						taken += c.take(request, result.Transition, names(dimensions(all), rows[i])+" to "+names(dimensions(all), rows[j]))
					}
				}
			}
			t.Logf("Of %d changes between %d combinations %d are made in steps, %d together.", pairs, len(rows), inSteps, taken)
			if one.Type == "flannel" && inSteps == 0 {
				t.Error("no change is made in steps")
			}
		})
	}
}

// take takes the steps one after the other, and returns how many there are.
func (c *combinations) take(request pipeline.Request, way *pipeline.Transition, from string) int {
	for i, step := range way.Steps {
		if request.Step = step.Config; i == len(way.Steps)-1 {
			request.Step = nil
		}
		at := c.pipeline.Build(request)
		if len(at.Errors) > 0 {
			c.Errorf("from %s, the step %q: %v", from, step.Name, at.Errors.ToAggregate())
			return i
		}
		for _, change := range at.Changes {
			if change.Class != plugin.Safe && change.Class != plugin.Rolling {
				c.Errorf("from %s, the step %q: %s is %s: %s", from, step.Name, change.Path, change.Class, change.Reason)
			}
		}
		request.Applied = at.Applied()
	}
	return len(way.Steps)
}
