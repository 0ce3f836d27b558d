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
	if b.last == nil {
		return
	}
	var err error
	if b.applied, err = flattenJSON(b.last.Config); err != nil {
		b.last = nil
		b.cannotCompare(err)
		return
	}
	accepted := b.last.Accepted
	if accepted == nil {
		return
	}
	if b.in.IPAM == "" {
		b.in.IPAM = accepted.Facts.IPAM
	}
	b.in.IPFamilies = keepBoth(b.in.IPFamilies, b.request.Spec.IPFamilies, accepted.Facts.IPFamilies)
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
	before, errs := b.plugin.Decode(b.last.Config, nil)
	if len(errs) > 0 {
		b.cannotCompare(errs.ToAggregate())
		return nil
	}
	then := b.in // unless the facts of then were kept, they count as the same
	if accepted := b.last.Accepted; accepted != nil {
		then.Facts = accepted.Facts
	}
	b.compareConfig(before, &then)
	b.compareFacts(before, &then)
	return nil
}

func (b *build) compareConfig(before any, then *plugin.Input) {
	all := maps.Clone(b.applied)
	maps.Copy(all, b.values)
	for _, path := range slices.Sorted(maps.Keys(all)) {
		if reflect.DeepEqual(b.applied[path], b.values[path]) {
			continue
		}
		change := Change{Path: path, Before: b.applied[path], After: b.values[path]}
		change.Class, change.Reason = b.plugin.Classify(path, before, b.config, then, &b.in)
		if change.Class == "" {
			change.Class, change.Reason = plugin.Disruptive, "the plugin does not say what this change means"
		}
		b.note(change, plugin.At(b.paths.config, path))
	}
}

// compareFacts lists facts whose change the plugin or the pipeline classifies.
func (b *build) compareFacts(before any, then *plugin.Input) {
	for _, fact := range plugin.AllFacts() {
		was, is := then.Value(fact), b.in.Value(fact)
		if reflect.DeepEqual(was, is) {
			continue
		}
		change := Change{Path: string(fact), Before: was, After: is}
		path := plugin.At(nil, change.Path)
		if fact == plugin.FactIPFamilies {
			path = b.paths.families
		}
		if fact == plugin.FactIPFamilies && !mayFollow(then.IPFamilies, b.in.IPFamilies) {
			change.Class, change.Reason = plugin.Forbidden, wrongFamilies
		} else {
			change.Class, change.Reason = b.plugin.Classify(string(fact), before, b.config, then, &b.in)
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
