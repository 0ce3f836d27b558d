// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"encoding/json"

	"k8s.io/apimachinery/pkg/util/validation/field"

	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/plugin"
)

// Accepted is what a network was applied for: the part of a Request that its
// users answer for.
type Accepted struct {
	Spec    extensionsv1alpha1.NetworkSpec `json:"spec"`
	Written json.RawMessage                `json:"written,omitempty"`
	Facts   plugin.Facts                   `json:"facts"`
	// MaxUnavailableDecided says that the facts' MaxUnavailable is an annotation's, and
	// not worked out.
	MaxUnavailableDecided bool `json:"maxUnavailableDecided,omitempty"`
}

// Accepted is what is remembered of a Request for which a network runs. What the operator
// decides, and what changes without anybody's config being to blame, is no part of it,
// but for the webhook: whoever looks has to know which one the shoot was told of.
func (r *Request) Accepted() *Accepted {
	facts := r.Facts
	facts.FeatureGates, facts.Images, facts.PodAccess = nil, nil, nil
	facts.Nodes, facts.NodesAtLeast, facts.NodesAtMost, facts.Hibernated = 0, 0, 0, false
	return &Accepted{Spec: r.Spec, Written: r.Written, Facts: facts, MaxUnavailableDecided: r.MaxUnavailable != ""}
}

// Again is the Request for what was accepted, with what has nothing to do with that as
// it is today.
func (r *Request) Again(accepted *Accepted) Request {
	again, now := *r, r.Facts
	again.Spec, again.Written, again.Facts = accepted.Spec, accepted.Written, accepted.Facts
	facts := &again.Facts
	facts.Webhook = now.Webhook
	facts.FeatureGates, facts.Images, facts.PodAccess = now.FeatureGates, now.Images, now.PodAccess
	facts.Nodes, facts.NodesAtLeast, facts.NodesAtMost, facts.Hibernated = now.Nodes, now.NodesAtLeast, now.NodesAtMost, now.Hibernated
	return again
}

// forgive turns errors into warnings which the network that was applied last would
// have today as well: a rule that came with a release must not stop a network that
// runs. Errors that the user's changes bring stay.
func (b *build) forgive(errs field.ErrorList) field.ErrorList {
	accepted := b.request.TakenOver
	if b.request.Applied != nil {
		accepted = b.request.Applied.Accepted
	}
	if len(errs) == 0 || accepted == nil {
		return errs
	}
	if b.known == nil {
		b.known = b.errorsOf(accepted)
	}
	var remaining field.ErrorList
	for _, err := range errs {
		if !b.known[err.Error()] {
			remaining = append(remaining, err)
			continue
		}
		b.result.Warnings = append(b.result.Warnings, plugin.Warning{
			Field:   err.Field,
			Message: "is applied, and would not be accepted any more: " + err.ErrorBody(),
		})
	}
	return remaining
}

// errorsOf are the errors that today's rules find in what was applied.
func (b *build) errorsOf(accepted *Accepted) map[string]bool {
	request := b.request.Again(accepted)
	request.MaxUnavailable = "" // is nothing that was accepted
	request.TakenOver = nil
	if applied := b.request.Applied; applied != nil {
		request.Applied = &Applied{Config: applied.Config, Sources: applied.Sources}
	}
	before := &build{pipeline: b.pipeline, request: &request, facts: &request.Facts, paths: b.paths, applied: b.applied}
	for _, stage := range []func() error{before.judgeWritten, before.applyDefaults, before.validateEffective} {
		if plugin.Guard(request.Spec.Type, stage) != nil {
			break // what cannot be judged has no errors that could be known
		}
	}
	known := make(map[string]bool, len(before.result.Errors))
	for _, err := range before.result.Errors {
		known[err.Error()] = true
	}
	return known
}
