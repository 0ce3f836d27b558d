// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/trellis-network/trellis/plugin"
)

// applyDefaults makes the effective config, and states the origin of each value. Values
// that the user never set stay as they were first applied, even if the default has changed.
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
	if b.last != nil {
		if err := b.keepApplied(); err != nil {
			return err
		}
	}
	b.target = b.result.Values
	if b.request.Step != nil {
		return b.takeStep()
	}
	return nil
}

// defaultsOver makes the effective config with the plugin's defaults over a copy of base.
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

// keepApplied restores the applied value of each field whose value is a default (of the
// plugin or the infrastructure) both now and then. It applies the defaults once more, since
// other values may depend on the restored ones.
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
			continue // the plugin does not allow it, and has stated the reason
		}
		b.result.Origins[path] = plugin.Origin{
			Source: plugin.FromApplied,
			Reason: fmt.Sprintf("kept from when it was first applied; today's default is %v", today[path]),
		}
	}
	return nil
}

// writtenWith returns the config in the spec with these values.
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

// mayKeep reports whether the user left a value of this source to Trellis. No source means
// the plugin's default.
func mayKeep(source plugin.Source) bool {
	switch source {
	case "", plugin.FromDefault, plugin.FromInfrastructure, plugin.FromApplied:
		return true
	}
	return false
}

// warnOverridden warns of each value of the user that another value overrides, with the
// reason that the defaults gave. The pipeline does this for all plugins, so that no rule of
// theirs can lack its warning.
func (b *build) warnOverridden() {
	for _, path := range slices.Sorted(maps.Keys(b.byUser)) {
		wrote := b.byUser[path]
		value, has := b.target[path]
		if isNothing(wrote) || has && reflect.DeepEqual(value, wrote) {
			continue
		}
		message := fmt.Sprintf("%v has no effect", wrote)
		if has {
			message = fmt.Sprintf("%v is not in force, %v is", wrote, value)
		}
		if origin, ok := plugin.Nearest(b.noted, path); ok {
			message += ": " + origin.Reason
		}
		b.Warn(plugin.At(b.paths.config, path), message)
	}
}

// isNothing reports whether a value states nothing that could be in force.
func isNothing(value any) bool {
	if value == nil || value == "" {
		return true
	}
	object, ok := value.(map[string]any)
	return ok && len(object) == 0
}

// Applied returns what must be remembered of a Result that is applied.
func (r *Result) Applied() *Applied {
	applied := &Applied{Config: withoutNulls(r.Config), Sources: map[string]plugin.Source{}, Accepted: r.accepted}
	for path, origin := range r.Origins {
		if origin.Source != plugin.FromDefault {
			applied.Sources[path] = origin.Source
		}
	}
	return applied
}
