// SPDX-License-Identifier: Apache-2.0

package plugintest

import (
	"encoding/json"
	"strings"

	"github.com/trellis-network/trellis/plugin"
)

// lenient decodes itself, and takes everything.
type lenient struct{ config }

func (l *lenient) UnmarshalJSON(raw []byte) error { return json.Unmarshal(raw, &l.config) }

// vague has a field that takes every value.
type vague struct {
	config `json:",inline"`
	Extra  any `json:"extra,omitempty"`
}

// grown has a field that is new.
type grown struct {
	config `json:",inline"`
	Fresh  *bool `json:"fresh,omitempty"`
}

// brokenTypes are those of configs.
var brokenTypes = []broken{
	{check: "decoding", how: "a type that decodes itself", says: "a field that does not exist is accepted", plugin: func() plugin.Plugin {
		return plugin.New[lenient](adapted(sound(), func(l *lenient) *config { return &l.config }))
	}},
	{check: "decoding", how: "anything may stand in a field", says: `["a"] for a value of another type is accepted`, plugin: func() plugin.Plugin {
		f := adapted(sound(), func(v *vague) *config { return &v.config })
		declaring(f, "extra", plugin.Safe)
		inner := f.classify
		f.classify = func(c plugin.Change[vague]) (plugin.ChangeClass, string) {
			if c.Path == "extra" || strings.HasPrefix(c.Path, "extra.") {
				return plugin.Safe, "its effect is unknown"
			}
			return inner(c)
		}
		return plugin.New[vague](f)
	}, readme: func(text string) string { return text + "| `extra` | absent | safe |\n" }},
	{check: "changes", how: "a new field", says: "Classify has no class for fresh", plugin: func() plugin.Plugin {
		return plugin.New[grown](adapted(sound(), func(g *grown) *config { return &g.config }))
	}, readme: func(text string) string { return text + "| `fresh` | absent | safe |\n" }},
	{check: "readme", how: "a new field", says: "does not describe `fresh`", plugin: func() plugin.Plugin {
		f := adapted(sound(), func(g *grown) *config { return &g.config })
		declaring(f, "fresh", plugin.Safe)
		inner := f.classify
		f.classify = func(c plugin.Change[grown]) (plugin.ChangeClass, string) {
			if c.Path == "fresh" {
				return plugin.Safe, "no agent reads it"
			}
			return inner(c)
		}
		return plugin.New[grown](f)
	}},
}
