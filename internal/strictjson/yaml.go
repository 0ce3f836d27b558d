// SPDX-License-Identifier: Apache-2.0

package strictjson

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	yamlv3 "go.yaml.in/yaml/v3"
	"sigs.k8s.io/yaml"
)

// FromYAML returns the first document of a YAML text as JSON. It refuses, before it decodes
// anything, a text of more than limit bytes, and anchors and aliases: YAML libraries count the
// values that aliases repeat, and not their lengths. An error completes the sentence "it …".
func FromYAML(text []byte, limit int) ([]byte, error) {
	if len(text) > limit {
		return nil, fmt.Errorf("has %d bytes; at most %d are allowed", len(text), limit)
	}
	if bytes.ContainsAny(text, "&*") {
		root := &yamlv3.Node{}
		if err := yamlv3.Unmarshal(text, root); err == nil && hasAlias(root) {
			return nil, errors.New("has a YAML anchor or alias (& or *), which is not allowed, since a short document can become a huge one with them; write each value out")
		} else if err != nil {
			return nil, fmt.Errorf("is not YAML: %w", err)
		}
	}
	document, err := yaml.YAMLToJSON(text)
	if err != nil {
		return nil, fmt.Errorf("is not YAML: %w", err)
	}
	return document, nil
}

func hasAlias(node *yamlv3.Node) bool {
	return node.Kind == yamlv3.AliasNode || node.Anchor != "" || slices.ContainsFunc(node.Content, hasAlias)
}
