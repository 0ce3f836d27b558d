// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"fmt"
	"maps"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/trellis-network/trellis/plugin"
)

// Change is a value of the effective config, or a fact, that differs from what was
// applied.
type Change struct {
	// Path is the field of the config, for example overlay.enabled, or a plugin.Fact.
	Path string `json:"path"`
	// Before and After are the values; nil where there is none.
	Before any `json:"before,omitempty"`
	After  any `json:"after,omitempty"`
	// Class says what the change means for a running network, Reason why.
	Class  plugin.ChangeClass `json:"class"`
	Reason string             `json:"reason"`
}

// readApplied takes apart what was applied last, and gives it up if nothing can be
// learnt from it. Some facts are what they were then.
func (b *build) readApplied() {
	if b.request.Applied == nil {
		return
	}
	var err error
	if b.applied, err = leavesIn(b.request.Applied.Config); err != nil {
		b.request.Applied = nil
		b.cannotCompare(err)
		return
	}
	accepted := b.request.Applied.Accepted
	if accepted == nil {
		return
	}
	if b.facts.IPAM == "" {
		b.facts.IPAM = accepted.Facts.IPAM
	}
	b.facts.IPFamilies = keepBoth(b.facts.IPFamilies, b.request.Spec.IPFamilies, accepted.Facts.IPFamilies)
}

// cannotCompare leaves aside what was applied last, for which its user is not to blame.
func (b *build) cannotCompare(err error) {
	b.applied = nil
	b.warn(field.NewPath("status", "state"), "what was applied last cannot be compared: "+err.Error())
}

// compare lists what changes against what was applied last, and refuses what
// would break the running network.
func (b *build) compare() error {
	if b.applied == nil {
		return nil
	}
	before, errs := b.plugin.Decode(b.request.Applied.Config, nil)
	if len(errs) > 0 {
		b.cannotCompare(errs.ToAggregate())
		return nil
	}
	b.compareConfig(before)
	b.compareFacts(before)
	return nil
}

func (b *build) compareConfig(before any) {
	then, now := b.applied, b.values
	facts := b.facts // where nobody has kept those of then, they are taken as the same
	if accepted := b.request.Applied.Accepted; accepted != nil {
		facts = &accepted.Facts
	}
	all := maps.Clone(then)
	maps.Copy(all, now)
	for _, path := range slices.Sorted(maps.Keys(all)) {
		if reflect.DeepEqual(then[path], now[path]) {
			continue
		}
		change := Change{Path: path, Before: then[path], After: now[path]}
		change.Class, change.Reason = b.plugin.ClassifyIn(path, before, b.config, facts, b.facts)
		if change.Class == "" {
			change.Class, change.Reason = plugin.Disruptive, "the plugin does not say what this change means"
		}
		b.note(change, plugin.At(b.paths.config, path))
	}
}

// compareFacts lists what changes though the config need not. It takes a network whose
// facts nobody has kept as one in which they are the same.
func (b *build) compareFacts(before any) {
	accepted := b.request.Applied.Accepted
	if accepted == nil {
		return
	}
	for _, fact := range plugin.AllFacts() {
		then, now := accepted.Facts.Value(fact), b.facts.Value(fact)
		if reflect.DeepEqual(then, now) {
			continue
		}
		change := Change{Path: string(fact), Before: then, After: now}
		path := plugin.At(nil, change.Path)
		if fact == plugin.FactIPFamilies {
			path = b.paths.families
		}
		switch {
		case fact == plugin.FactIPFamilies && !mayFollow(accepted.Facts.IPFamilies, b.facts.IPFamilies):
			change.Class, change.Reason = plugin.Forbidden, wrongFamilies
		default:
			change.Class, change.Reason = b.plugin.ClassifyFact(fact, before, b.config, &accepted.Facts, b.facts)
		}
		if change.Class != "" {
			b.note(change, path)
		}
	}
}

// note keeps a change, which is an error at path if it is forbidden.
func (b *build) note(change Change, path *field.Path) {
	b.result.Changes = append(b.result.Changes, change)
	if change.Class == plugin.Forbidden {
		b.wrong(field.Forbidden(path, fmt.Sprintf("cannot change from %v to %v in a running network: %s",
			orAbsent(change.Before), orAbsent(change.After), change.Reason)))
	}
}

func orAbsent(value any) any {
	if value == nil {
		return "absent"
	}
	return value
}
