// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/trellis-network/trellis/plugin"
)

// kind is the kind of every plugin's config.
const kind = "NetworkConfig"

// Schema returns the JSON schema of the plugin's config, with the versions that
// the plugin accepts.
func Schema(p *plugin.Plugin) ([]byte, error) {
	if len(p.ConfigSchema) == 0 {
		return nil, fmt.Errorf("the %s plugin has no schema of its %s", p.Type, kind)
	}
	var document map[string]any
	if err := json.Unmarshal(p.ConfigSchema, &document); err != nil {
		return nil, fmt.Errorf("the schema of the %s plugin is broken: %w", p.Type, err)
	}
	properties, ok := document["properties"].(map[string]any)
	if !ok {
		return nil, fmt.Errorf("the schema of the %s plugin is broken: it has no properties", p.Type)
	}
	properties["apiVersion"] = map[string]any{
		"type": "string", "enum": versions(p), "description": "apiVersion is that of the config, not of the object that it stands in.",
	}
	properties["kind"] = map[string]any{"type": "string", "const": kind, "description": "kind is " + kind + "."}
	document["title"] = kind + " of " + p.ConfigVersions[0].String()
	text, err := json.MarshalIndent(document, "", "  ")
	return append(text, '\n'), err
}

func versions(p *plugin.Plugin) []string {
	var list []string
	for _, version := range p.ConfigVersions {
		list = append(list, version.String())
	}
	return list
}

// node is what is read of a schema.
type node struct {
	Type        string           `json:"type"`
	Description string           `json:"description"`
	Properties  map[string]*node `json:"properties"`
	Items       *node            `json:"items"`
	Required    []string         `json:"required"`
	Enum        []any            `json:"enum"`
	Const       any              `json:"const"`
	Pattern     string           `json:"pattern"`
	AnyOf       []*node          `json:"anyOf"`
	Examples    []any            `json:"examples"`
}

func parse(p *plugin.Plugin) (*node, error) {
	document, err := Schema(p)
	if err != nil {
		return nil, err
	}
	root := &node{}
	return root, json.Unmarshal(document, root)
}

// at returns the node of a field, or an error that lists those that there are.
func (n *node) at(p *plugin.Plugin, path []string) (*node, error) {
	for i, name := range path {
		inner, has := n.fields()[name]
		if !has {
			where := strings.Join(append([]string{p.Type}, path[:i]...), ".")
			there := "it has no fields"
			if names := n.names(); len(names) > 0 {
				there = "there are " + strings.Join(names, ", ")
			}
			return nil, fmt.Errorf("%s has no field %q; %s", where, name, there)
		}
		n = inner
	}
	return n, nil
}

// fields are those of an object, or of the objects in a list.
func (n *node) fields() map[string]*node {
	if n.Items != nil {
		return n.Items.Properties
	}
	return n.Properties
}

func (n *node) names() []string { return slices.Sorted(maps.Keys(n.fields())) }

// typeName is the type as people read it.
func (n *node) typeName() string {
	switch {
	case n.Items != nil:
		return "list of " + n.Items.typeName()
	case len(n.AnyOf) > 0:
		var names []string
		for _, each := range n.AnyOf {
			names = append(names, each.typeName())
		}
		return strings.Join(names, " or ")
	}
	return n.Type
}

// allowed are the values that may be written; nil if they cannot be listed.
func (n *node) allowed() []any {
	switch {
	case n.Const != nil:
		return []any{n.Const}
	case len(n.Enum) > 0:
		return n.Enum
	case n.Type == "boolean":
		return []any{true, false}
	}
	return nil
}
