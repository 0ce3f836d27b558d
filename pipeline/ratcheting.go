// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"bytes"
	"encoding/json"
	"regexp"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/internal/jsonequal"
	"github.com/trellis-network/trellis/plugin"
)

// Accepted is what a network was applied for: what users state, and what Build decided.
type Accepted struct {
	Spec      extensionsv1alpha1.NetworkSpec `json:"spec"`
	Written   json.RawMessage                `json:"written,omitempty"`
	Facts     plugin.Facts                   `json:"facts"`
	Decisions plugin.Decisions               `json:"decisions,omitzero"`
	// AtStep reports that the network was at a step on the way to what Spec asks for.
	AtStep bool `json:"atStep,omitempty"`
	// Webhook is the one that the shoot's objects have.
	Webhook *plugin.Webhook `json:"webhook,omitempty"`
}

// Accepted returns what a network from the Request is applied for, but for Build's decisions.
func (r *Request) Accepted() *Accepted {
	accepted := &Accepted{Spec: r.Spec, Written: withoutNulls(r.Written), Facts: r.Facts, AtStep: r.Step != nil, Webhook: r.Environment.Webhook}
	if config := r.Spec.ProviderConfig; config != nil {
		accepted.Spec.ProviderConfig = &runtime.RawExtension{Raw: withoutNulls(config.Raw)}
		if same, err := jsonequal.Values(config, json.RawMessage(r.Written)); err == nil && same {
			accepted.Written = nil // the spec's counts
		}
	}
	return accepted
}

// withoutNulls returns a config as an API server stores it that gets it in a merge patch: a null
// says nothing and cannot be stored.
func withoutNulls(raw json.RawMessage) json.RawMessage {
	if !bytes.Contains(raw, []byte("null")) {
		return raw
	}
	stored, err := jsonpatch.MergePatch([]byte("{}"), raw)
	if err != nil {
		return raw
	}
	return stored
}

// Again returns the Request for what was accepted, in today's environment. Of a network that was at a
// step it is the one for what the spec asked for.
func (r *Request) Again(accepted *Accepted) Request {
	again := *r
	again.Spec, again.Written, again.Facts = accepted.Spec, accepted.Written, accepted.Facts
	again.Step = nil
	return again
}

// Repeat returns the Request for what was written as last says, in today's environment. It must have
// been accepted.
func (r *Request) Repeat(last *Applied) Request {
	again := r.Again(last.Accepted)
	again.Applied, again.Present = last, nil
	if last.Accepted.AtStep {
		again.Step = last.Config
	}
	return again
}

// applyRatcheting turns errors into warnings if the network was as wrong, or more, when it was applied
// last: neither may a rule of a new release stop a running network, nor may what is wrong with it
// keep its user from a change that makes it better. Errors that the user's changes cause, or make
// worse, stay errors.
func (b *build) applyRatcheting(errs field.ErrorList) field.ErrorList {
	accepted := b.request.TakenOver
	if b.last != nil {
		accepted = b.last.Accepted
	}
	if len(errs) == 0 || accepted == nil {
		return errs
	}
	if b.known == nil {
		b.known = b.errorsOf(accepted)
	}
	var remaining field.ErrorList
	for _, err := range errs {
		if !b.known.forgive(err, b.Extents) {
			remaining = append(remaining, err)
			continue
		}
		b.Warnings = append(b.Warnings, plugin.Warning{Field: err.Field, Message: ratcheted + err.ErrorBody()})
	}
	return remaining
}

// ratcheted begins the warning that an error becomes. It is also true of a network that was never
// applied: trellis-admission does not see whether an operator has applied that of a Shoot.
const ratcheted = "was so before, and would be refused in a new network: "

// wrongs are the errors of a network: how often each occurs, and for those with an extent the
// greatest one.
type wrongs struct {
	times   map[string]int
	extents map[string]int64
}

func (w *wrongs) add(err *field.Error, extents map[*field.Error]plugin.Extent) {
	w.times[errorKey(err)]++
	if extent, has := extents[err]; has {
		w.extents[ruleKey(err, extent)] = max(extent.By, w.extents[ruleKey(err, extent)])
	}
}

// forgive reports whether an error is among the wrongs, to its extent at least. Each wrong forgives
// one error, so that what was wrong once is not wrong twice.
func (w *wrongs) forgive(err *field.Error, extents map[*field.Error]plugin.Extent) bool {
	if extent, has := extents[err]; has {
		before, was := w.extents[ruleKey(err, extent)]
		return was && extent.By <= before
	}
	key := errorKey(err)
	w.times[key]--
	return w.times[key] >= 0
}

// listIndex is an index in a path: what is wrong in a list stays the same if its place changes.
var listIndex = regexp.MustCompile(`\[\d+\]`)

func errorKey(err *field.Error) string {
	return listIndex.ReplaceAllString(err.Field, "[]") + ": " + err.ErrorBody()
}

func ruleKey(err *field.Error, extent plugin.Extent) string {
	return listIndex.ReplaceAllString(err.Field, "[]") + ": " + extent.Rule
}

// errorsOf returns the errors that today's rules find in what was applied.
func (b *build) errorsOf(accepted *Accepted) *wrongs {
	request := b.request.Again(accepted)
	request.MaxUnavailable = "" // the annotation is not part of it
	request.TakenOver = nil
	request.Applied = nil
	if was := accepted.Facts.Infrastructure.Type; was == "" || was == b.request.Facts.Infrastructure.Type {
		// What Trellis has learned of an infrastructure since is a rule of a new release.
		request.Facts.Infrastructure = b.request.Facts.Infrastructure
	}
	if b.last != nil {
		request.Applied = &Applied{Config: b.last.Config, Sources: b.last.Sources}
		if accepted.AtStep {
			request.Step = b.last.Config
		}
	}
	before := b.pipeline.begin(&request)
	before.paths, before.applied, before.thorough = b.paths, b.applied, true
	for _, stage := range []func() error{before.checkWritten, before.applyDefaults, before.validateEffective} {
		if plugin.Guard(request.Spec.Type, stage) != nil {
			break // after a panic there are no more errors to find
		}
	}
	known := &wrongs{times: map[string]int{}, extents: map[string]int64{}}
	for _, err := range before.Errors {
		known.add(err, before.Extents)
	}
	return known
}
