// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/trellis-network/trellis/internal/jsonequal"
	"github.com/trellis-network/trellis/plugin"
)

// Transition is how a network becomes what its spec asks for in steps, each of which leaves running
// pods connected.
type Transition struct {
	// From and To are how packets travel before and after, for people.
	From string `json:"from"`
	To   string `json:"to"`
	// Steps are all that are left, one at least. The last one has the config that the spec asks for.
	Steps []Step `json:"steps"`
}

// IsNeeded reports whether a network that is on no way yet makes the change in another way than any other: in
// several steps, or in one that waits for the nodes. A nil Transition is not needed.
func (t *Transition) IsNeeded() bool {
	return t != nil && (len(t.Steps) > 1 || t.Steps[0].Precondition != nil)
}

// Step is one step of a Transition.
type Step struct {
	// Name tells people what the network is with the step.
	Name string `json:"name"`
	// WaitsFor is what must be seen before the step begins, for people.
	WaitsFor string `json:"waitsFor"`
	// Config is effective.
	Config json.RawMessage `json:"-"`
	// Precondition is what every node must show before the step begins; nil if that is nothing.
	Precondition *plugin.Precondition `json:"-"`
}

// String tells users that the change is made in steps, and what these are, as a part of a sentence.
func (t *Transition) String() string {
	if len(t.Steps) == 1 {
		return "the change is made once " + t.Steps[0].WaitsFor
	}
	names := make([]string, len(t.Steps))
	for i := range t.Steps {
		names[i] = fmt.Sprintf("(%d) %s", i+1, t.Steps[i].Name)
	}
	return fmt.Sprintf("the change is made in %d steps, each of which begins once pods talk with the one before: %s", len(t.Steps), strings.Join(names, ", "))
}

// Obstacle is why a change cannot be made in steps.
type Obstacle struct {
	// Path is that of a change which is disruptive; empty if that is not why.
	Path   string
	Reason string
}

// What each step waits for, whatever else its precondition is.
const (
	firstWaits = "the agents of all nodes run what was written last"
	nextWaits  = "the agents of all nodes run the step before, and pods talk"
)

// planSteps finds the steps in which the changes are made, if the plugin has any. A hibernated cluster has
// no traffic that could be interrupted.
func (b *build) planSteps() error {
	isSame := b.request.Present == nil && len(b.result.Changes) == 0
	if !b.result.compared || isSame || b.request.AtOnce || b.request.Step != nil || b.in.Hibernated {
		return nil
	}
	present := b.last.Config
	if b.request.Present != nil {
		present = b.request.Present
	}
	before, errs := b.plugin.Decode(present, nil)
	if len(errs) > 0 {
		return nil
	}
	steps := b.plugin.Transition(before, b.config, b.then(), &b.in)
	if len(steps) == 0 {
		return nil
	}
	t := &Transition{From: b.plugin.DescribeDataPath(before).Packets, To: b.plugin.DescribeDataPath(b.config).Packets}
	for i := range steps {
		config, err := b.plugin.Encode(steps[i].Config)
		if err != nil {
			return err
		}
		step := Step{Name: steps[i].Name, Config: config, Precondition: steps[i].Precondition, WaitsFor: nextWaits}
		if i == 0 {
			step.WaitsFor = firstWaits
		}
		if wanted := step.Precondition; wanted != nil {
			step.WaitsFor += fmt.Sprintf(", and each node has the condition %s=%s with the reason %s, because %s",
				wanted.Condition, wanted.Status, wanted.Reason, wanted.Explanation)
		}
		t.Steps = append(t.Steps, step)
	}
	if why := b.whyNotInSteps(present, t.Steps); why != nil {
		b.result.NotInSteps = why
		return nil
	}
	b.result.Transition = t
	return nil
}

// then returns the input that the network was applied for last.
func (b *build) then() *plugin.Input {
	then := b.in // without the facts of that time, no fact counts as changed
	if accepted := b.last.Accepted; accepted != nil {
		then.Facts = accepted.Facts
	}
	return &then
}

// whyNotInSteps returns why a change cannot be made in these steps; nil if it can. The network stays as it is until
// the first one begins, in the cluster as it is now.
func (b *build) whyNotInSteps(present json.RawMessage, steps []Step) *Obstacle {
	for _, change := range b.result.Changes {
		if isFact := slices.Contains(plugin.AllFacts(), plugin.Fact(change.Path)); isFact && change.Class == plugin.Disruptive {
			return &Obstacle{change.Path, "a change of " + change.Path + " is disruptive"}
		}
	}
	if _, why := b.whyInvalid(present); why != "" {
		return &Obstacle{Reason: "the network as it is would be invalid: " + why}
	}
	previous, then := present, b.then()
	for i := range steps {
		config := steps[i].Config
		inForce, why := b.result.Config, ""
		if i < len(steps)-1 {
			inForce, why = b.whyInvalid(config)
		}
		if why != "" {
			return &Obstacle{Reason: fmt.Sprintf("the step %q is invalid: %s", steps[i].Name, why)}
		}
		if same, err := jsonequal.Values(inForce, config); err != nil || !same {
			return &Obstacle{Reason: fmt.Sprintf("the step %q is another network with its defaults, or the last one is not what the spec asks for", steps[i].Name)}
		}
		if path, why := b.whyDisruptive(previous, config, then); why != "" {
			return &Obstacle{path, fmt.Sprintf("the step %q is disruptive: %s", steps[i].Name, why)}
		}
		previous, then = config, &b.in
	}
	return nil
}

// whyInvalid returns the first error in a network with this config, also as if a user had written it, unless what
// the spec asks for has it too. It returns what is in force with the config.
func (b *build) whyInvalid(config json.RawMessage) (inForce json.RawMessage, why string) {
	request := *b.request
	request.Step = config
	step := b.pipeline.begin(&request)
	known := b.plugin.Validate(b.config, &b.in, b.paths.config).Errors // an effective config need not be one that users may write
	validate := func() error {
		for _, err := range step.plugin.Validate(step.config, &step.in, step.paths.config).Errors {
			if !slices.ContainsFunc(known, func(other *field.Error) bool { return errorKey(err) == errorKey(other) }) {
				step.Error(err)
			}
		}
		return nil
	}
	result := step.run(step.checkWritten, step.applyDefaults, validate, step.validateEffective)
	if len(result.Errors) > 0 {
		return nil, result.Errors[0].Error()
	}
	return result.Config, ""
}

// whyDisruptive returns the first change between two configs that a running network does not survive unharmed, and
// its path.
func (b *build) whyDisruptive(before, after json.RawMessage, then *plugin.Input) (path, why string) {
	was, errs := b.plugin.Decode(before, nil)
	is, others := b.plugin.Decode(after, nil)
	wasValues, err := flattenJSON(before)
	isValues, failed := flattenJSON(after)
	if err := errors.Join(err, failed, append(errs, others...).ToAggregate()); err != nil {
		return "", err.Error()
	}
	all := maps.Clone(wasValues)
	maps.Copy(all, isValues)
	for _, path := range slices.Sorted(maps.Keys(all)) {
		if reflect.DeepEqual(wasValues[path], isValues[path]) {
			continue
		}
		if class, reason := b.plugin.Classify(path, was, is, then, &b.in); class != plugin.Safe && class != plugin.Rolling {
			return path, fmt.Sprintf("a change of %s is %s: %s", path, class, reason)
		}
	}
	return "", ""
}

// takeStep replaces the effective config by that of a step. Values keep their origins, so that the
// network that follows has the same defaults.
func (b *build) takeStep() error {
	step, errs := b.plugin.Decode(b.request.Step, nil)
	if len(errs) > 0 {
		return fmt.Errorf("the config of a step cannot be decoded: %w", errs.ToAggregate())
	}
	origins, noted := b.result.Origins, b.noted
	if err := b.defaultsOver(step); err != nil {
		return err
	}
	b.noted = noted // which are about what the spec asks for
	for path, value := range b.result.Values {
		was, wasApplied := b.applied[path]
		switch target, has := b.target[path]; {
		case has && reflect.DeepEqual(target, value):
			b.result.Origins[path] = origins[path]
		case wasApplied && reflect.DeepEqual(was, value):
			b.result.Origins[path] = appliedOrigin(b.last.Sources[path])
		default:
			b.result.Origins[path] = plugin.Origin{Source: plugin.FromRule, Reason: "a step on the way to what the spec asks for"}
		}
	}
	return nil
}

// appliedOrigin returns the origin of a value that stays as it was applied.
func appliedOrigin(source plugin.Source) plugin.Origin {
	if source == "" {
		source = plugin.FromDefault
	}
	return plugin.Origin{Source: source, Reason: "until the next step of the change"}
}
