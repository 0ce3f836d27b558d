// SPDX-License-Identifier: Apache-2.0

package plugintest

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/trellis-network/trellis/pipeline"
	"github.com/trellis-network/trellis/plugin"
)

// transitions: each step that a Transitioner has is valid and not disruptive after the one before it, and it
// leads on to the same steps, and back.
func transitions(s *suite, found *report) {
	for _, before := range s.plainNetworks() {
		for _, after := range s.plainNetworks() {
			if before.cluster.name != after.cluster.name || before.config == nil || after.config == nil || bytes.Equal(before.result.Config, after.result.Config) {
				continue
			}
			w := &walk{s, found, before, after}
			found.where = "a change from " + before.name + " to " + after.name
			if way := w.changed(before.result.Applied()); way != nil {
				w.check(way)
			}
		}
	}
}

// walk is a change of a network.
type walk struct {
	*suite
	*report
	before, after network
}

// changed builds the network after the change of one that was applied, and returns its steps.
func (w *walk) changed(from *pipeline.Applied) *pipeline.Transition {
	return w.builtFrom(from, w.after.request)
}

func (w *walk) builtFrom(from *pipeline.Applied, request pipeline.Request) *pipeline.Transition {
	request.Applied = from
	result := w.pipeline.Build(request)
	disruptive := sets.New[string]()
	for _, change := range result.Changes {
		if change.Class == plugin.Disruptive {
			disruptive.Insert(change.Path)
		}
	}
	if why := result.NotInSteps; why != nil && !disruptive.Has(why.Path) {
		w.breach("Transition has steps that cannot be made: %s; return steps that are valid and not disruptive, or none", why.Reason)
	}
	return result.Transition
}

// check takes the steps.
func (w *walk) check(way *pipeline.Transition) {
	names := sets.New[string]()
	for i, step := range way.Steps {
		switch {
		case strings.TrimSpace(step.Name) == "":
			w.breach("a step of Transition has no name; users are told it")
		case names.Has(step.Name):
			w.breach("Transition has two steps named %q; give each a name of its own", step.Name)
		}
		names.Insert(step.Name)
		if wanted := step.Precondition; wanted != nil && (wanted.Condition == "" || wanted.Status == "" || wanted.Reason == "" || wanted.Explanation == "") {
			w.breach("the precondition of the step %q lacks its condition, status, reason or explanation", step.Name)
		}
		if i == len(way.Steps)-1 {
			break
		}
		request := w.after.request
		request.Applied, request.Step = w.before.result.Applied(), step.Config
		at := w.pipeline.Build(request)
		if len(at.Errors) > 0 {
			w.breach("the step %q cannot be rendered: %v", step.Name, at.Errors.ToAggregate())
			return
		}
		if left := configsOf(w.changed(at.Applied())); !slices.Equal(left, configsOf(way)[i+1:]) && (len(left) > 0 || i < len(way.Steps)-2) {
			w.breach("from the step %q on, Transition has other steps than before; the operator asks again after each step", step.Name)
		}
		w.builtFrom(at.Applied(), w.before.request)
	}
}

func configsOf(way *pipeline.Transition) []string {
	if way == nil {
		return nil
	}
	var configs []string
	for _, step := range way.Steps {
		var value any
		_ = json.Unmarshal(step.Config, &value) // it was encoded by the pipeline
		configs = append(configs, textOf(value))
	}
	return configs
}
