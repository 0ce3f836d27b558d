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
	effective, noted, err := b.defaultsOver(b.written)
	if err != nil {
		return err
	}
	if err := b.explain(effective, noted); err != nil {
		return err
	}
	if b.request.Applied == nil {
		return nil
	}
	return b.keepApplied()
}

// defaultsOver runs the plugin's defaults over a copy of base.
func (b *build) defaultsOver(base any) (any, map[string]plugin.Origin, error) {
	config, err := b.plugin.Clone(base)
	if err != nil {
		return nil, nil, err
	}
	var because plugin.Origins
	b.plugin.Default(config, b.facts, &because)
	return config, because.ByPath(), nil
}

// explain stores the effective config and works out each value's origin.
func (b *build) explain(effective any, noted map[string]plugin.Origin) error {
	var err error
	b.config = effective
	if b.result.Config, err = b.plugin.Encode(effective); err != nil {
		return err
	}
	values, err := leaves(b.result.Config)
	if err != nil {
		return err
	}
	byUser, inSpec, err := b.writtenLeaves()
	if err != nil {
		return err
	}
	b.result.Origins = make(map[string]plugin.Origin, len(values))
	for path, value := range values {
		users, wrote := byUser[path]
		specs, has := inSpec[path]
		origin, isNoted := noted[path]
		switch {
		case wrote && reflect.DeepEqual(users, value):
			origin = plugin.Origin{Source: plugin.FromUser}
		case isNoted:
		case has && reflect.DeepEqual(specs, value):
			origin = plugin.Origin{Source: plugin.FromInfrastructure, Reason: "set in the Network on its way to the seed"}
		default:
			origin = plugin.Origin{Source: plugin.FromDefault}
		}
		b.result.Origins[path] = origin
	}
	return nil
}

// writtenLeaves returns the values that the user wrote and those of the spec,
// which differ where a webhook has changed the Network on its way.
func (b *build) writtenLeaves() (byUser, inSpec map[string]any, err error) {
	if inSpec, err = b.leavesOf(b.written); err != nil || b.request.Written == nil {
		return inSpec, inSpec, err
	}
	byUser, err = b.leavesOf(b.userConfig())
	return byUser, inSpec, err
}

func (b *build) leavesOf(config any) (map[string]any, error) {
	raw, err := b.plugin.Encode(config)
	if err != nil {
		return nil, err
	}
	return leaves(raw)
}

// keepApplied goes back to the applied value wherever a value is only a default
// (of the plugin or the infrastructure) now and was one then, and defaults once
// more, so that whatever follows from the kept values follows.
func (b *build) keepApplied() error {
	now, err := leaves(b.result.Config)
	if err != nil {
		return err
	}
	then, err := leaves(b.request.Applied.Config)
	if err != nil {
		return fmt.Errorf("the config that was applied last cannot be read: %w", err)
	}
	kept := map[string]any{}
	for path, before := range then {
		value, still := now[path]
		if still && !reflect.DeepEqual(value, before) &&
			mayKeep(b.request.Applied.Sources[path]) && mayKeep(b.result.Origins[path].Source) {
			kept[path] = before
		}
	}
	if len(kept) == 0 {
		return nil
	}
	raw, err := b.plugin.Encode(b.written)
	if err != nil {
		return err
	}
	if raw, err = withLeaves(raw, kept); err != nil {
		return err
	}
	base, errs := b.plugin.Decode(raw, b.paths.config)
	if len(errs) > 0 {
		return fmt.Errorf("keep what was applied: %w", errs.ToAggregate())
	}
	effective, noted, err := b.defaultsOver(base)
	if err != nil {
		return err
	}
	today := now
	if err := b.explain(effective, noted); err != nil {
		return err
	}
	if now, err = leaves(b.result.Config); err != nil {
		return err
	}
	for path, before := range kept {
		if !reflect.DeepEqual(now[path], before) {
			continue // the plugin does not let it be kept, and has said why
		}
		b.result.Origins[path] = plugin.Origin{
			Source: plugin.FromApplied,
			Reason: fmt.Sprintf("kept from when it was first applied; today's default is %v", today[path]),
		}
	}
	return nil
}

// mayKeep says whether a value of this source is one that the user left to
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
