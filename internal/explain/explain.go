// SPDX-License-Identifier: Apache-2.0

// Package explain describes the fields of a plugin's config: with the JSON schema of its
// Go type, which has the doc comments, and with the classes of changes that the plugin
// declares. It knows no field by name.
package explain

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/trellis-network/trellis/plugin"
)

// Explanation describes a field, or a config as a whole.
type Explanation struct {
	// Kind and Versions are those of the config.
	Kind     string
	Versions []string
	// Path is the field's, empty for the whole config.
	Path string
	// Type is a type of JSON schema.
	Type string
	// Text is the documentation of the field, and Around that of the block around it.
	Text, Around Text
	// Required reports whether the block around the field must have it.
	Required bool
	// Allowed are the values that a user may write; nil if there is no list of them.
	Allowed []any
	// Range is the range of a number: "1 to 65535".
	Range string
	// Pattern is a regular expression for the allowed values.
	Pattern string
	// Examples are allowed values.
	Examples []any
	// Default is the documented default.
	Default string
	// Changes are the effects that a change of the field can have on a running network.
	Changes []plugin.PossibleChange
	// Fields are the fields of the block.
	Fields []Field
}

// Field is a field of a block.
type Field struct {
	Name, Type string
	Required   bool
	Text       Text
}

// Text is the documentation of a field: sentences, and those that begin with a
// word and a colon on a line of their own.
type Text struct {
	Intro, Default, Effect, Rule string
}

// Config explains the fields of a plugin's config.
type Config struct {
	plugin *plugin.Plugin
	root   *node
}

// Of returns the Config of a plugin.
func Of(p *plugin.Plugin) (*Config, error) {
	document, err := Schema(p)
	if err != nil {
		return nil, err
	}
	config := &Config{plugin: p}
	return config, json.Unmarshal(document, &config.root)
}

// Leaves returns the paths of all fields but blocks, apiVersion and kind.
func (c *Config) Leaves() []string {
	return c.root.leaves("")
}

// Field explains the field at path, and the whole config for an empty path.
func (c *Config) Field(path string) (*Explanation, error) {
	var names []string
	if path != "" {
		names = strings.Split(path, ".")
	}
	n, err := c.root.at(c.plugin, names)
	if err != nil {
		return nil, err
	}
	e := &Explanation{
		Kind: kind, Versions: versions(c.plugin), Path: path, Type: n.typeName(), Text: textOf(n.Description),
		Allowed: n.allowed(), Range: n.interval(), Pattern: n.Pattern, Examples: n.Examples,
	}
	if last := len(names) - 1; last >= 0 {
		block, _ := c.root.at(c.plugin, names[:last])
		e.Required = slices.Contains(block.Required, names[last])
		if last > 0 {
			e.Around = textOf(block.Description)
		}
	}
	for _, name := range n.names() {
		inner := n.fields()[name]
		e.Fields = append(e.Fields, Field{name, inner.typeName(), slices.Contains(n.Required, name), textOf(inner.Description)})
	}
	if !e.IsLeaf() {
		e.Allowed = slices.DeleteFunc(e.Allowed, func(value any) bool { return value == "" }) // of apiVersion and kind
		return e, nil
	}
	e.Default = defaultOf(e, names[len(names)-1])
	e.Changes, _ = plugin.Nearest(c.plugin.Changes, path)
	return e, nil
}

// IsLeaf reports whether the field has a value of its own, rather than fields.
func (e *Explanation) IsLeaf() bool {
	return e.Path != "" && len(e.Fields) == 0 && e.Path != "apiVersion" && e.Path != "kind"
}

// defaultOf returns the documented default of a field, or that of the block around it. A
// block of resources has a list: "cpu 100m, memory 50Mi; none in mode vpa".
func defaultOf(e *Explanation, name string) string {
	if e.Text.Default != "" {
		return e.Text.Default
	}
	list, condition, isConditional := strings.Cut(e.Around.Default, ";")
	for each := range strings.SplitSeq(strings.TrimSuffix(list, "."), ", ") {
		value, isOwn := strings.CutPrefix(each, name+" ")
		switch {
		case isOwn && isConditional:
			return value + ";" + condition
		case isOwn:
			return value
		}
	}
	return e.Around.Default
}

func textOf(description string) Text {
	var text Text
	into := &text.Intro
	sections := map[string]*string{"Default": &text.Default, "Effect": &text.Effect, "Rule": &text.Rule}
	for line := range strings.Lines(description) {
		if label, rest, _ := strings.Cut(line, ": "); sections[label] != nil {
			into, line = sections[label], rest
		}
		*into += line
	}
	for _, section := range []*string{&text.Intro, &text.Default, &text.Effect, &text.Rule} {
		*section = strings.TrimSpace(*section)
	}
	return text
}
