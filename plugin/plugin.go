// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Plugin is a Definition whose config type is hidden, so that plugins of
// different types can stand in one list. Make it with New.
type Plugin struct {
	Description

	decode            func(raw []byte, path *field.Path) (any, field.ErrorList)
	encode            func(config any) ([]byte, error)
	validate          func(written any, facts *Facts, path *field.Path) Findings
	defaults          func(config any, facts *Facts, because *Origins)
	validateEffective func(effective, written any, facts *Facts, path *field.Path) Findings
	classify          func(path string, before, after any) (ChangeClass, string)
	classifyIn        func(path string, before, after any, then, now *Facts) (ChangeClass, string)
	classifyFact      func(fact Fact, before, after any, then, now *Facts) (ChangeClass, string)
	render            func(effective any, facts *Facts) (Objects, error)
	precondition      func(effective any, facts *Facts) *Precondition
	ipam              func(present []unstructured.Unstructured) string
	adapt             func(object *unstructured.Unstructured) (bool, error)
}

// New makes a Plugin of its Definition.
func New[C any](d Definition[C]) Plugin {
	description := d.Describe()
	p := Plugin{
		Description: description,
		decode: func(raw []byte, path *field.Path) (any, field.ErrorList) {
			config := new(C)
			errs := decodeStrict(raw, config, description.ConfigVersions, path)
			return config, errs
		},
		encode: func(config any) ([]byte, error) { return encode(config, description.ConfigVersions) },
		validate: func(written any, facts *Facts, path *field.Path) Findings {
			return d.Validate(written.(*C), facts, path)
		},
		defaults: func(config any, facts *Facts, because *Origins) { d.Default(config.(*C), facts, because) },
		validateEffective: func(effective, written any, facts *Facts, path *field.Path) Findings {
			return d.ValidateEffective(effective.(*C), written.(*C), facts, path)
		},
		classify: func(path string, before, after any) (ChangeClass, string) {
			return d.Classify(path, before.(*C), after.(*C))
		},
		render: func(effective any, facts *Facts) (Objects, error) { return d.Render(effective.(*C), facts) },
	}
	addAbilities(&p, d)
	return p
}

// addAbilities adds what a Definition may do beyond what each must.
func addAbilities[C any](p *Plugin, d Definition[C]) {
	p.precondition = func(any, *Facts) *Precondition { return nil }
	if cautious, ok := any(d).(Cautious[C]); ok {
		p.precondition = func(effective any, facts *Facts) *Precondition { return cautious.Precondition(effective.(*C), facts) }
	}
	p.classifyIn = func(string, any, any, *Facts, *Facts) (ChangeClass, string) { return "", "" }
	if classifier, ok := any(d).(SituationClassifier[C]); ok {
		p.classifyIn = func(path string, before, after any, then, now *Facts) (ChangeClass, string) {
			return classifier.ClassifyIn(path, Situation[C]{before.(*C), then}, Situation[C]{after.(*C), now})
		}
	}
	p.classifyFact = func(Fact, any, any, *Facts, *Facts) (ChangeClass, string) { return "", "" }
	if classifier, ok := any(d).(FactClassifier[C]); ok {
		p.classifyFact = func(fact Fact, before, after any, then, now *Facts) (ChangeClass, string) {
			return classifier.ClassifyFact(fact, Situation[C]{before.(*C), then}, Situation[C]{after.(*C), now})
		}
	}
	if heir, ok := any(d).(Heir); ok {
		p.ipam = heir.IPAM
	}
	if adapter, ok := any(d).(Adapter); ok {
		p.adapt = adapter.Adapt
	}
}

// Decode decodes a providerConfig strictly: unknown and duplicate fields and
// wrong types are errors with their path. Nothing decodes as an empty config.
// The result is only to be handed back to the same Plugin.
func (p *Plugin) Decode(raw []byte, path *field.Path) (any, field.ErrorList) {
	return p.decode(raw, path)
}

// Encode is the inverse of Decode, in the plugin's first config version.
func (p *Plugin) Encode(config any) ([]byte, error) { return p.encode(config) }

// Validate calls the Definition's method of this name.
func (p *Plugin) Validate(written any, facts *Facts, path *field.Path) Findings {
	return p.validate(written, facts, path)
}

// Default calls the Definition's method of this name.
func (p *Plugin) Default(config any, facts *Facts, because *Origins) {
	p.defaults(config, facts, because)
}

// ValidateEffective calls the Definition's method of this name.
func (p *Plugin) ValidateEffective(effective, written any, facts *Facts, path *field.Path) Findings {
	return p.validateEffective(effective, written, facts, path)
}

// Classify calls the Definition's method of this name.
func (p *Plugin) Classify(path string, before, after any) (ChangeClass, string) {
	return p.classify(path, before, after)
}

// ClassifyIn calls the method of this name of a Definition that is a SituationClassifier,
// for the configs before and after, and the facts then and now, and Classify where that
// says nothing.
func (p *Plugin) ClassifyIn(path string, before, after any, then, now *Facts) (ChangeClass, string) {
	if class, reason := p.classifyIn(path, before, after, then, now); class != "" {
		return class, reason
	}
	return p.Classify(path, before, after)
}

// ClassifyFact calls the method of this name of a Definition that is a FactClassifier,
// for the configs before and after, and the facts then and now. To other plugins no fact
// makes a difference of its own.
func (p *Plugin) ClassifyFact(fact Fact, before, after any, then, now *Facts) (ChangeClass, string) {
	return p.classifyFact(fact, before, after, then, now)
}

// Render calls the Definition's method of this name.
func (p *Plugin) Render(effective any, facts *Facts) (Objects, error) {
	return p.render(effective, facts)
}

// Precondition calls the method of this name of a Definition that is Cautious.
// Others have none.
func (p *Plugin) Precondition(effective any, facts *Facts) *Precondition {
	return p.precondition(effective, facts)
}

// Inherits says that the Definition is an Heir, so that IPAM may be called.
func (p *Plugin) Inherits() bool { return p.ipam != nil }

// IPAM calls the Heir's method of this name.
func (p *Plugin) IPAM(present []unstructured.Unstructured) string { return p.ipam(present) }

// Adapts says that the Definition is an Adapter, so that Adapt may be called.
func (p *Plugin) Adapts() bool { return p.adapt != nil }

// Adapt calls the Adapter's method of this name.
func (p *Plugin) Adapt(object *unstructured.Unstructured) (bool, error) { return p.adapt(object) }

// StatusTypeMeta returns apiVersion and kind of the plugin's providerStatus.
func (p *Plugin) StatusTypeMeta() (apiVersion, kind string) {
	return p.ConfigVersions[0].String(), "NetworkStatus"
}

// Clone returns a deep copy of a config.
func (p *Plugin) Clone(config any) (any, error) {
	raw, err := json.Marshal(config)
	if err != nil {
		return nil, fmt.Errorf("copy the %s config: %w", p.Type, err)
	}
	clone, errs := p.decode(raw, nil)
	return clone, errs.ToAggregate()
}
