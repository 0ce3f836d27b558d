// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/plugin"
)

// Change is a value of the effective config, or a fact, that differs from what was applied.
type Change struct {
	// Path is the field of the config, for example overlay.enabled, or a plugin.Fact.
	Path string `json:"path"`
	// Before and After are the values; nil where there is none.
	Before any `json:"before,omitempty"`
	After  any `json:"after,omitempty"`
	// Class is what the change means for a running network, and Reason the reason.
	Class  plugin.ChangeClass `json:"class"`
	Reason string             `json:"reason"`
}

// readApplied reads what was applied last, unless it is malformed. Some facts stay as then.
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
	if b.in.KeepsNothing() {
		b.in.Inherited = accepted.Facts.Inherited
	}
	b.in.IPFamilies = keepBoth(b.in.IPFamilies, b.request.Spec.IPFamilies, accepted.Facts.IPFamilies)
}

// cannotCompare ignores what was applied last, with a warning: it is no error of the user.
func (b *build) cannotCompare(err error) {
	b.applied = nil
	b.Warn(field.NewPath("status", "state"), "what was applied last cannot be compared: "+err.Error())
}

// compare lists what changes against what was applied last, and refuses what would break that.
func (b *build) compare() error {
	if b.applied == nil {
		return nil
	}
	before, errs := b.plugin.Decode(b.last.Config, nil)
	if len(errs) > 0 {
		b.cannotCompare(errs.ToAggregate())
		return nil
	}
	then := b.then()
	all := maps.Clone(b.applied)
	maps.Copy(all, b.result.Values)
	for _, path := range slices.Sorted(maps.Keys(all)) {
		b.classify(path, b.applied[path], b.result.Values[path], plugin.At(b.paths.config, path), before, then)
	}
	for _, fact := range plugin.AllFacts() {
		path := plugin.At(nil, string(fact))
		if fact == plugin.FactIPFamilies {
			path = b.paths.families
		}
		b.classify(string(fact), then.Value(fact), b.in.Value(fact), path, before, then)
	}
	b.result.AwaitsRoutes = b.request.RoutesAsked && !b.request.AtOnce && !b.in.Hibernated &&
		!b.plugin.DescribeDataPath(before).NeedsRoutes() && b.plugin.DescribeDataPath(b.config).NeedsRoutes()
	b.result.compared = true
	return nil
}

// classify keeps the change of a value or of a fact, if it is one. It is an error at path if
// it is forbidden.
func (b *build) classify(name string, was, is any, path *field.Path, before any, then *plugin.Input) {
	if reflect.DeepEqual(was, is) {
		return
	}
	change := Change{Path: name, Before: was, After: is}
	change.Class, change.Reason = b.plugin.Classify(name, before, b.config, then, &b.in)
	isFact := slices.Contains(plugin.AllFacts(), plugin.Fact(name))
	switch {
	case name == string(plugin.FactIPFamilies) && !mayFollow(then.IPFamilies, b.in.IPFamilies):
		change.Class, change.Reason = plugin.Forbidden, wrongFamilies
	case change.Class == "" && isFact:
		return // it makes no difference to this network
	case change.Class == "":
		change.Class, change.Reason = plugin.Disruptive, "the plugin does not say what this change means"
	}
	b.result.Changes = append(b.result.Changes, change)
	if change.Class == plugin.Forbidden {
		b.Error(field.Forbidden(path, fmt.Sprintf("cannot change from %v to %v in a running network: %s",
			cmp.Or[any](was, "absent"), cmp.Or[any](is, "absent"), change.Reason)))
	}
}

// mayFollow reports whether a running network may get other families: IPv6 may join IPv4,
// and go again (Gardener's contract).
func mayFollow(before, after []extensionsv1alpha1.IPFamily) bool {
	beginsWithIPv4 := func(families []extensionsv1alpha1.IPFamily) bool {
		return len(families) == 0 || families[0] == extensionsv1alpha1.IPv4
	}
	return slices.Equal(before, after) || beginsWithIPv4(before) && beginsWithIPv4(after)
}

const wrongFamilies = "IPv6 may join IPv4 as the second family and go again, and nothing else; list the families as before, or create a new cluster"
