// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
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
	// Changes are what it can mean for a running network when the value changes, as the
	// plugin declares it.
	Changes []plugin.PossibleChange
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

// Explainer explains the fields of one plugin's config.
type Explainer struct {
	plugin *plugin.Plugin
	// root is the whole config's schema.
	root *node
	// inForce are the values of a network without config, by path.
	inForce map[string]any
}

// New makes an Explainer.
func New(p *pipeline.Pipeline, one *plugin.Plugin) (*Explainer, error) {
	root, err := parse(one)
	if err != nil {
		return nil, err
	}
	x := &Explainer{plugin: one, root: root, inForce: map[string]any{}}
	result := p.Build(requestWithoutConfig(p, one.Type))
	if len(result.Errors) > 0 {
		return x, nil // some plugins demand a config
	}
	values, err := result.Values()
	for _, value := range values {
		x.inForce[value.Path] = value.Value
	}
	return x, err
}

// requestWithoutConfig is for a network of which nothing is known but its type.
func requestWithoutConfig(p *pipeline.Pipeline, networkType string) pipeline.Request {
	gates, _ := p.ResolveFeatureGates(nil, nil)
	return p.NewRequest(&extensionsv1alpha1.Network{
		ObjectMeta: metav1.ObjectMeta{Name: "network", Namespace: "default"},
		Spec: extensionsv1alpha1.NetworkSpec{
			DefaultSpec: extensionsv1alpha1.DefaultSpec{Type: networkType},
			PodCIDR:     pipeline.DefaultPodCIDR, ServiceCIDR: pipeline.DefaultServiceCIDR,
		},
	}, nil, plugin.Environment{FeatureGates: gates})
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
	inForce := x.inForce[e.Path]
	switch {
	case e.Text.Default != "":
		e.Default = e.Text.Default
	case inForce == nil && e.Around.Default != "":
		e.Default = e.Around.Default
	default:
		e.Default = Shown(inForce)
	}
	e.Changes, _ = plugin.Nearest(one.Changes, e.Path)
	for _, class := range []plugin.ChangeClass{plugin.Forbidden, plugin.Disruptive, plugin.Rolling, plugin.Safe} {
		if slices.ContainsFunc(e.Changes, func(c plugin.PossibleChange) bool { return c.Class == class }) {
			e.Classes = append(e.Classes, class)
		}
	}
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
