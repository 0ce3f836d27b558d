// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/trellis-network/trellis/plugin"
)

// Document returns an object as it is written into a bundle or printed: without a status,
// which its controller writes.
func Document(object plugin.Object) (map[string]any, error) {
	raw, err := plugin.AppendJSON(nil, object)
	if err != nil {
		return nil, err
	}
	var document map[string]any
	return document, utiljson.Unmarshal(raw, &document)
}

// Documents writes objects as JSON documents, one a line, separated as in a YAML
// stream.
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
