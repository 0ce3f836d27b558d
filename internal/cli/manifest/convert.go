// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"errors"
	"fmt"
	"strings"

	yamlv2 "go.yaml.in/yaml/v2"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"
)

// maxDepth is how deep a document may be nested. Shoots have about 15 levels.
const maxDepth = 100

var (
	errDepth = fmt.Errorf("is nested more than %d levels deep", maxDepth)
	errSize  = fmt.Errorf("grows beyond %d MiB when its aliases are replaced", maxBytes>>20)
)

// fromYAML turns a document into JSON. Duplicate fields are an error. Aliases
// are measured before anything is copied for them.
func fromYAML(text []byte) ([]byte, error) {
	var value any
	if err := yamlv2.Unmarshal(text, &value); err != nil {
		return nil, plain(err)
	}
	budget := maxBytes
	if err := measure(value, 0, &budget); err != nil {
		return nil, err
	}
	raw, err := yaml.YAMLToJSONStrict(text)
	if err != nil {
		return nil, plain(err)
	}
	return raw, nil
}

// checkJSON checks what fromYAML checks.
func checkJSON(raw []byte) error {
	var value any
	strict, err := kjson.UnmarshalStrict(raw, &value)
	if err != nil {
		return err
	}
	budget := maxBytes
	if err := measure(value, 0, &budget); err != nil {
		return err
	}
	return errors.Join(strict...)
}

// measure walks a decoded document and charges its size to the budget.
func measure(value any, depth int, budget *int) error {
	if depth > maxDepth {
		return errDepth
	}
	if *budget--; *budget < 0 {
		return errSize
	}
	switch v := value.(type) {
	case string:
		*budget -= len(v)
	case []any:
		for _, inner := range v {
			if err := measure(inner, depth+1, budget); err != nil {
				return err
			}
		}
	case map[any]any:
		for name, inner := range v {
			if err := errors.Join(measure(name, depth+1, budget), measure(inner, depth+1, budget)); err != nil {
				return err
			}
		}
	case map[string]any:
		for name, inner := range v {
			*budget -= len(name)
			if err := measure(inner, depth+1, budget); err != nil {
				return err
			}
		}
	}
	if *budget < 0 {
		return errSize
	}
	return nil
}

// plain words an error of the YAML libraries on one line, without their names.
func plain(err error) error {
	message := err.Error()
	for _, prefix := range []string{"error converting YAML to JSON: ", "yaml: ", "unmarshal errors:"} {
		message = strings.TrimPrefix(message, prefix)
	}
	return errors.New("cannot be read as YAML: " + strings.Join(strings.Fields(message), " "))
}
