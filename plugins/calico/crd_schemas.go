// SPDX-License-Identifier: Apache-2.0

package calico

import (
	"encoding/json"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// properties describe fields of an object.
type properties = map[string]apiextensionsv1.JSONSchemaProps

// open is an object that keeps fields which are not described.
func open(described properties, required []string) apiextensionsv1.JSONSchemaProps {
	return apiextensionsv1.JSONSchemaProps{
		Type:                   "object",
		XPreserveUnknownFields: new(true),
		Properties:             described,
		Required:               required,
	}
}

func text(description string) apiextensionsv1.JSONSchemaProps {
	return apiextensionsv1.JSONSchemaProps{Type: "string", Description: description}
}

func texts(description string) apiextensionsv1.JSONSchemaProps {
	return apiextensionsv1.JSONSchemaProps{
		Type: "array", Description: description,
		Items: &apiextensionsv1.JSONSchemaPropsOrArray{Schema: &apiextensionsv1.JSONSchemaProps{Type: "string"}},
	}
}

// oneOfTexts also allows that there is none.
func oneOfTexts(description string, values ...string) apiextensionsv1.JSONSchemaProps {
	schema := text(description)
	for _, value := range values {
		raw, _ := json.Marshal(value) // a string can always be encoded
		schema.Enum = append(schema.Enum, apiextensionsv1.JSON{Raw: raw})
	}
	return schema
}

func boolean(description string) apiextensionsv1.JSONSchemaProps {
	return apiextensionsv1.JSONSchemaProps{Type: "boolean", Description: description}
}

func integer(description string) apiextensionsv1.JSONSchemaProps {
	return apiextensionsv1.JSONSchemaProps{Type: "integer", Format: "int64", Description: description}
}

func number(description string) apiextensionsv1.JSONSchemaProps {
	return apiextensionsv1.JSONSchemaProps{Type: "number", Description: description}
}
