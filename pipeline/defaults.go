// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/trellis-network/trellis/plugin"
)

// applyDefaults makes the effective config and notes where its values come from.
// Values that the user never set stay what they were when the network was first
// applied, even where today's default is another.
func (b *build) applyDefaults() error {
	// They differ where a webhook has changed the Network on its way.
	var err error
	if b.inSpec, err = flatten(b.written); err != nil {
		return err
	}
	if b.byUser = b.inSpec; b.request.Written != nil {
		if b.byUser, err = flatten(b.user); err != nil {
			return err
		}
	}
	if err := b.defaultsOver(b.written); err != nil {
		return err
	}
	if b.last == nil {
		return nil
	}
	return b.keepApplied()
}

// defaultsOver runs the plugin's defaults over a copy of base, which makes the
// effective config, and works out each value's origin.
func (b *build) defaultsOver(base any) (err error) {
	if b.config, err = b.plugin.Clone(base); err != nil {
		return err
	}
	var origins plugin.Origins
	b.plugin.Default(b.config, &b.in, &origins)
	b.noted = origins.ByPath()
	if b.result.Config, err = b.plugin.Encode(b.config); err != nil {
		return err
	}
	if b.result.Values, err = flatten(b.config); err != nil {
		return err
	}
	b.result.Origins = make(map[string]plugin.Origin, len(b.result.Values))
	for path, value := range b.result.Values {
		b.result.Origins[path] = b.originOf(path, value)
	}
	return nil
}

func (b *build) originOf(path string, value any) plugin.Origin {
	if users, wrote := b.byUser[path]; wrote && reflect.DeepEqual(users, value) {
		return plugin.Origin{Source: plugin.FromUser}
	}
	if origin, ok := b.noted[path]; ok {
		return origin
	}
	if specs, has := b.inSpec[path]; has && reflect.DeepEqual(specs, value) {
		return plugin.Origin{Source: plugin.FromInfrastructure, Reason: "set in the Network on its way to the seed"}
	}
	return plugin.Origin{Source: plugin.FromDefault}
}

// keepApplied goes back to the applied value wherever a value is only a default
// (of the plugin or the infrastructure) now and was one then, and defaults once
// more, so that whatever follows from the kept values follows.
func (b *build) keepApplied() error {
	kept, today := map[string]any{}, b.result.Values
	for path, before := range b.applied {
		value, still := today[path]
		if still && !reflect.DeepEqual(value, before) &&
			mayKeep(b.last.Sources[path]) && mayKeep(b.result.Origins[path].Source) {
			kept[path] = before
		}
	}
	if len(kept) == 0 {
		return nil
	}
	base, err := b.writtenWith(kept)
	if err != nil {
		b.cannotCompare(err)
		return nil
	}
	if err := b.defaultsOver(base); err != nil {
		return err
	}
	for path, before := range kept {
		if !reflect.DeepEqual(b.result.Values[path], before) {
			continue // the plugin does not let it be kept, and has said why
		}
		b.result.Origins[path] = plugin.Origin{
			Source: plugin.FromApplied,
			Reason: fmt.Sprintf("kept from when it was first applied; today's default is %v", today[path]),
		}
	}
	return nil
}

// writtenWith is what the spec has, with these values put in.
func (b *build) writtenWith(values map[string]any) (any, error) {
	raw, err := b.plugin.Encode(b.written)
	if err != nil {
		return nil, err
	}
	if raw, err = withValues(raw, values); err != nil {
		return nil, err
	}
	base, errs := b.plugin.Decode(raw, nil)
	return base, errs.ToAggregate()
}

// mayKeep reports whether a value of this source is one that the user left to
// Trellis. No source means the plugin's default.
func mayKeep(source plugin.Source) bool {
	switch source {
	case "", plugin.FromDefault, plugin.FromInfrastructure, plugin.FromApplied:
		return true
	}
	return false
}

// Applied is what to remember of a Result that gets applied.
func (r *Result) Applied() *Applied {
	applied := &Applied{Config: json.RawMessage(r.Config), Sources: map[string]plugin.Source{}, Accepted: r.accepted}
	for path, origin := range r.Origins {
		if origin.Source != plugin.FromDefault {
			applied.Sources[path] = origin.Source
		}
	}
	return applied
}
