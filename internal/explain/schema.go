// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/trellis-network/trellis/internal/fielderror"
	"github.com/trellis-network/trellis/plugin"
)

// kind is the kind of every plugin's config.
const kind = "NetworkConfig"

// Schema returns the JSON schema of the plugin's config, with the versions that it accepts.
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
	properties["apiVersion"] = typeMeta("apiVersion of the config, not of the object that contains it.", versions(p))
	properties["kind"] = typeMeta("kind of the config: "+kind+".", []string{kind})
	document["title"] = kind + " of " + p.ConfigVersions[0].String()
	text, err := json.MarshalIndent(document, "", "  ")
	return append(text, '\n'), err
}

// typeMeta returns the schema of apiVersion or kind, which may also be empty.
func typeMeta(description string, values []string) map[string]any {
	allowed := []any{}
	for _, value := range values {
		allowed = append(allowed, value)
	}
	return map[string]any{
		"type": []string{"string", "null"}, "enum": append(allowed, "", nil), "description": description,
	}
}

func versions(p *plugin.Plugin) []string {
	var list []string
	for _, version := range p.ConfigVersions {
		list = append(list, version.String())
	}
	return list
}

// node is a part of a JSON schema.
type node struct {
	Type        any              `json:"type"` // of an optional field, a list with null
	Description string           `json:"description"`
	Properties  map[string]*node `json:"properties"`
	Items       *node            `json:"items"`
	Required    []string         `json:"required"`
	Enum        []any            `json:"enum"`
	Pattern     string           `json:"pattern"`
	Minimum     *int64           `json:"minimum"`
	Maximum     *int64           `json:"maximum"`
	AnyOf       []*node          `json:"anyOf"`
	Examples    []any            `json:"examples"`
}

// at returns the node of a field, or an error with suggestions.
func (n *node) at(p *plugin.Plugin, path []string) (*node, error) {
	root := n
	for i, name := range path {
		inner, has := n.fields()[name]
		if !has {
			where := strings.Join(append([]string{p.Type}, path[:i]...), ".")
			return nil, fmt.Errorf("%s has no field %q%s", where, fielderror.Abbreviate(name), n.instead(root, p.Type, where, name))
		}
		n = inner
	}
	return n, nil
}

// instead suggests fields for an unknown name in n, whose path is where.
func (n *node) instead(root *node, networkType, where, name string) string {
	names := n.names()
	there := ""
	if len(names) > 0 {
		there = " (fields: " + strings.Join(names, ", ") + ")"
	}
	var meant []string
	if near := fielderror.Nearest(name, names); near != "" {
		meant = []string{where + "." + near}
	} else {
		for _, path := range root.leaves("") {
			if strings.EqualFold(path[strings.LastIndex(path, ".")+1:], name) {
				meant = append(meant, networkType+"."+path)
			}
		}
	}
	const most = 3
	if len(meant) == 0 || len(meant) > most {
		return there
	}
	return there + "; did you mean " + strings.Join(meant, " or ") + "?"
}

// fields returns the fields of an object, or of the objects in a list.
func (n *node) fields() map[string]*node {
	if n.Items != nil {
		return n.Items.Properties
	}
	return n.Properties
}

func (n *node) names() []string { return slices.Sorted(maps.Keys(n.fields())) }

// typeName returns the type for users.
func (n *node) typeName() string {
	if n.Items != nil {
		return "list of " + n.Items.typeName()
	}
	var names []string
	for _, each := range n.AnyOf {
		names = append(names, each.typeName())
	}
	types, isList := n.Type.([]any)
	if !isList {
		types = []any{n.Type}
	}
	for _, each := range types {
		if name, isName := each.(string); isName && name != "null" {
			names = append(names, name)
		}
	}
	return strings.Join(names, " or ")
}

// allowed returns the values that a user may write, and nil if there is no list of them.
func (n *node) allowed() []any {
	switch {
	case len(n.Enum) > 0:
		return slices.DeleteFunc(slices.Clone(n.Enum), func(value any) bool { return value == nil })
	case n.typeName() == "boolean":
		return []any{true, false}
	}
	return nil
}

// interval returns the range of a number, and nothing without limits.
func (n *node) interval() string {
	switch {
	case n.Minimum != nil && n.Maximum != nil:
		return fmt.Sprintf("%d to %d", *n.Minimum, *n.Maximum)
	case n.Minimum != nil:
		return fmt.Sprintf("%d or more", *n.Minimum)
	case n.Maximum != nil:
		return fmt.Sprintf("%d or less", *n.Maximum)
	}
	return ""
}

// leaves returns the paths below path of all fields that are no blocks, without apiVersion
// and kind of the config.
func (n *node) leaves(path string) []string {
	var paths []string
	for _, name := range n.names() {
		inner := n.fields()[name]
		switch {
		case path == "" && (name == "apiVersion" || name == "kind"):
		case inner.Items == nil && len(inner.Properties) > 0:
			paths = append(paths, inner.leaves(path+name+".")...)
		default:
			paths = append(paths, path+name)
		}
	}
	return paths
}
