// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// jsonSchema turns a schema as CRDs have it into one for editors: strict, and
// without Kubernetes' extensions.
func jsonSchema(s *apiextensionsv1.JSONSchemaProps) map[string]any {
	out := encoded(&apiextensionsv1.JSONSchemaProps{
		Type: s.Type, Description: s.Description, Pattern: s.Pattern,
		Minimum: s.Minimum, Maximum: s.Maximum, Enum: s.Enum, Required: s.Required,
	})
	if s.Example != nil {
		out["examples"] = []any{s.Example}
	}
	if s.Items != nil && s.Items.Schema != nil {
		out["items"] = jsonSchema(s.Items.Schema)
	}
	if s.XIntOrString { // any number: quantities are decoded with this, too
		out["anyOf"] = []any{map[string]any{"type": "number"}, map[string]any{"type": "string"}}
		out["pattern"] = quantity
		if s.ExclusiveMinimum {
			delete(out, "minimum")
			out["exclusiveMinimum"], out["pattern"] = *s.Minimum, positiveQuantity
		}
	}
	if s.Type == "object" {
		delete(out, "minimum") // that of its values
		addProperties(out, s)
	}
	if len(s.AnyOf) == 2 && s.AnyOf[0].Not != nil { // see narrowed
		out["if"], out["then"] = encoded(s.AnyOf[0].Not), encoded(&s.AnyOf[1])
	}
	return out
}

// encoded returns the fields that a schema has.
func encoded(s *apiextensionsv1.JSONSchemaProps) map[string]any {
	raw, err := json.Marshal(s)
	out := map[string]any{}
	if err == nil {
		err = json.Unmarshal(raw, &out)
	}
	if err != nil {
		panic(err) // a marker has a value that is not JSON
	}
	return out
}

func addProperties(out map[string]any, s *apiextensionsv1.JSONSchemaProps) {
	out["additionalProperties"] = false
	var values *apiextensionsv1.JSONSchemaProps
	if s.AdditionalProperties != nil {
		values = s.AdditionalProperties.Schema
	}
	if values != nil && len(s.Properties) == 0 {
		out["additionalProperties"] = jsonSchema(values)
	}
	properties := map[string]any{}
	for name, property := range s.Properties {
		if values != nil {
			property = *values
			property.Minimum, property.ExclusiveMinimum = s.Minimum, s.ExclusiveMinimum
		}
		property.Description = called(name, property.Description)
		if property.XIntOrString && property.Description == "" {
			property.Description = name + " is a quantity: a number, with or without a suffix, such as 250m or 100Mi."
			if s.ExclusiveMinimum {
				property.Description = strings.Replace(property.Description, "quantity", "quantity of more than zero", 1)
			}
		}
		inner := jsonSchema(&property)
		if !slices.Contains(s.Required, name) {
			allowNull(inner)
		}
		properties[name] = inner
	}
	if len(properties) > 0 {
		out["properties"] = properties
	}
}

// allowNull lets a field be null, which is decoded as if it was left out: in YAML
// it is what stands there when all that was in a block is commented out. There
// are no quantities that are null.
func allowNull(schema map[string]any) {
	name, has := schema["type"].(string)
	if !has {
		return
	}
	schema["type"] = []any{name, "null"}
	if enum, has := schema["enum"].([]any); has {
		schema["enum"] = append(enum, nil)
	}
}

// called begins a description with the field's name as users write it, where it
// began with the one that it has in Go.
func called(name, description string) string {
	first, rest, found := strings.Cut(description, " ")
	field, key := strings.ToLower(first), strings.ToLower(name)
	if found && (field == key || strings.HasPrefix(rest, "is ") && (strings.HasPrefix(field, key) || strings.HasSuffix(key, field))) {
		return name + " " + rest
	}
	return description
}
