// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/trellis-network/trellis/pipeline"
	"github.com/trellis-network/trellis/plugin"
)

// Explanation is all that is known of a field, or of a config as a whole.
type Explanation struct {
	// Kind and Versions are those of the config.
	Kind     string
	Versions []string
	// Path is the field's, empty for the whole config.
	Path string
	// Type is a type of JSON schema.
	Type string
	// Text is the documentation.
	Text Text
	// Around is the documentation of the block that it stands in, if any.
	Around Text
	// Required says that it cannot be left out of the block that it stands in.
	Required bool
	// Allowed are the values that may be written; nil if they cannot be listed.
	Allowed []any
	// Pattern is a regular expression for what may be written.
	Pattern string
	// Examples are values that may be written.
	Examples []any
	// Range is the range of a number: "1 to 65535".
	Range string
	// Default is the documented default. Without one, it is the value that is in force if
	// the user writes nothing and nothing is known of the cluster.
	Default string
	// Changes are what it means for a running network when the value changes.
	Changes []Change
	// Classes are all classes that a change can have, gravest first.
	Classes []plugin.ChangeClass
	// Fields are those in the block.
	Fields []Field
}

// Field is a field of a block, in short.
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

// Explainer explains the fields of one plugin's config. What it has found out for one
// field is of use for the next. It is not safe for concurrent use.
type Explainer struct {
	pipeline *pipeline.Pipeline
	plugin   *plugin.Plugin
	// root is the whole config's schema.
	root *node
	// gates are as they are by default.
	gates map[string]bool
	// made are networks, nil if they are invalid, by circumstance and config.
	made map[string]*settled
}

// New makes an Explainer.
func New(p *pipeline.Pipeline, one *plugin.Plugin) (*Explainer, error) {
	root, err := parse(one)
	if err != nil {
		return nil, err
	}
	gates, _ := p.ResolveFeatureGates(nil, nil)
	return &Explainer{pipeline: p, plugin: one, root: root, gates: gates, made: map[string]*settled{}}, nil
}

// Leaves returns the paths of all fields that have a value of their own, without
// apiVersion and kind.
func (x *Explainer) Leaves() [][]string {
	var paths [][]string
	x.root.leaves(nil, func(path []string, _ *node) { paths = append(paths, path) })
	return paths
}

// Of explains the field at path.
func (x *Explainer) Of(path []string) (*Explanation, error) {
	root, one := x.root, x.plugin
	n, err := root.at(one, path)
	if err != nil {
		return nil, err
	}
	e := &Explanation{
		Kind: kind, Versions: versions(one), Path: strings.Join(path, "."),
		Type: n.typeName(), Text: textOf(n.Description), Allowed: n.allowed(), Pattern: n.Pattern, Range: n.interval(), Examples: n.Examples,
	}
	if len(path) > 0 {
		around, _ := root.at(one, path[:len(path)-1])
		e.Required = slices.Contains(around.Required, path[len(path)-1])
		if len(path) > 1 {
			e.Around = textOf(around.Description)
		}
	}
	for _, name := range n.names() {
		inner := n.fields()[name]
		e.Fields = append(e.Fields, Field{
			Name: name, Type: inner.typeName(), Required: slices.Contains(n.Required, name), Text: textOf(inner.Description),
		})
	}
	if e.isTypeMeta() {
		e.Allowed = slices.DeleteFunc(e.Allowed, func(value any) bool { return value == "" }) // as good as left out
	}
	if !e.IsLeaf() {
		return e, nil
	}
	t := trial{Explainer: x, path: path}
	inForce := t.inForce()
	switch {
	case e.Text.Default != "":
		e.Default = e.Text.Default
	case inForce == nil && e.Around.Default != "":
		e.Default = e.Around.Default
	default:
		e.Default = Shown(inForce)
	}
	e.Changes = t.changes(n)
	e.Classes = t.classes(e.Changes)
	return e, nil
}

// IsLeaf reports whether the field has a value of its own, rather than fields.
func (e *Explanation) IsLeaf() bool {
	return e.Path != "" && len(e.Fields) == 0 && !e.isTypeMeta()
}

func (e *Explanation) isTypeMeta() bool { return e.Path == "apiVersion" || e.Path == "kind" }

func textOf(description string) Text {
	var text Text
	into := &text.Intro
	for line := range strings.Lines(description) {
		for label, section := range map[string]*string{"Default: ": &text.Default, "Effect: ": &text.Effect, "Rule: ": &text.Rule} {
			if rest, begins := strings.CutPrefix(line, label); begins {
				into, line = section, rest
			}
		}
		*into += line
	}
	for _, section := range []*string{&text.Intro, &text.Default, &text.Effect, &text.Rule} {
		*section = strings.TrimSpace(*section)
	}
	return text
}

// Shown returns a value as users write it in YAML.
func Shown(value any) string {
	switch v := value.(type) {
	case nil:
		return "absent"
	case string:
		if strings.Trim(v, "0123456789.") == "" {
			return fmt.Sprintf("%q", v) // without quotes it would be a number
		}
		return v
	}
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprint(value)
	}
	return string(text)
}
