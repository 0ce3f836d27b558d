// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/trellis-network/trellis/plugin"
)

// Document is an object as it is written into a bundle or printed: without a
// status, which is not ours to state, and without empty leftovers of its Go type.
func Document(object plugin.Object) (map[string]any, error) {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return nil, fmt.Errorf("encode %s %s: %w", object.GetObjectKind().GroupVersionKind().Kind, object.GetName(), err)
	}
	delete(content, "status")
	dropNullTimestamps(content)
	return content, nil
}

// Documents writes objects as JSON documents, one a line, separated as in a YAML
// stream.
func Documents(objects []plugin.Object) ([]byte, error) {
	var out bytes.Buffer
	for i, object := range objects {
		document, err := Document(object)
		if err != nil {
			return nil, err
		}
		raw, err := json.Marshal(document)
		if err != nil {
			return nil, err
		}
		if i > 0 {
			out.WriteString("---\n")
		}
		out.Write(raw)
		out.WriteByte('\n')
	}
	return out.Bytes(), nil
}

// dropNullTimestamps removes the creationTimestamp: null that Kubernetes' types
// encode in metadata, of the object and of templates in it.
func dropNullTimestamps(value any) {
	switch v := value.(type) {
	case map[string]any:
		if timestamp, has := v["creationTimestamp"]; has && (timestamp == nil || reflect.ValueOf(timestamp).IsZero()) {
			delete(v, "creationTimestamp")
		}
		for _, inner := range v {
			dropNullTimestamps(inner)
		}
	case []any:
		for _, inner := range v {
			dropNullTimestamps(inner)
		}
	}
}
