// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"encoding/json"

	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/trellis-network/trellis/plugin"
)

// Document returns an object as it is written into a bundle or printed: without a status.
func Document(object plugin.Object) (map[string]any, error) {
	raw, err := plugin.AppendJSON(nil, object)
	if err != nil {
		return nil, err
	}
	var document map[string]any
	return document, utiljson.Unmarshal(raw, &document)
}

// Documents writes objects as JSON documents, one a line, separated as in a YAML stream.
func Documents(objects []plugin.Object) ([]byte, error) { return AppendDocuments(nil, objects) }

// AppendDocuments appends to out what Documents returns. A bundle is long: callers that
// make one after another should reuse the same slice.
func AppendDocuments(out []byte, objects []plugin.Object) ([]byte, error) {
	var err error
	for i, object := range objects {
		if i > 0 {
			out = append(out, "---\n"...)
		}
		if out, err = plugin.AppendJSON(out, object); err != nil {
			return nil, err
		}
		out = append(out, '\n')
	}
	return out, nil
}

// flatten returns the values of a config by dotted path, in JSON spelling. Lists
// are values; an empty object is one too. apiVersion and kind are not part of it.
func flatten(config any) (map[string]any, error) {
	document, err := runtime.DefaultUnstructuredConverter.ToUnstructured(config)
	if err != nil {
		return nil, err
	}
	return values(document), nil
}

// flattenJSON returns the same of an encoded config.
func flattenJSON(config json.RawMessage) (map[string]any, error) {
	var document map[string]any
	if err := utiljson.Unmarshal(config, &document); err != nil {
		return nil, err
	}
	return values(document), nil
}

func values(document map[string]any) map[string]any {
	delete(document, "apiVersion")
	delete(document, "kind")
	leaves := map[string]any{}
	collect(leaves, "", document)
	return leaves
}

func collect(into map[string]any, prefix string, object map[string]any) {
	for name, value := range object {
		path := prefix + name
		if inner, ok := value.(map[string]any); ok && len(inner) > 0 {
			collect(into, path+".", inner)
			continue
		}
		into[path] = asDecoded(value)
	}
}

// asDecoded returns a value as if it were encoded and decoded: whole numbers are integers.
func asDecoded(value any) any {
	switch v := value.(type) {
	case float64:
		if whole := int64(v); float64(whole) == v {
			return whole
		}
	case []any:
		for i := range v {
			v[i] = asDecoded(v[i])
		}
	case map[string]any:
		for name := range v {
			v[name] = asDecoded(v[name])
		}
	}
	return value
}

// withValues returns the config with the given values.
func withValues(config json.RawMessage, values map[string]any) (json.RawMessage, error) {
	var document map[string]any
	if err := utiljson.Unmarshal(config, &document); err != nil {
		return nil, err
	}
	for path, value := range values {
		plugin.Put(document, path, value)
	}
	return json.Marshal(document)
}
