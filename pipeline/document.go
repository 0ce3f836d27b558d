// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"bytes"
	"sync"

	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/trellis-network/trellis/plugin"
)

// Document is an object as it is written into a bundle or printed: without a
// status, which is not ours to state.
func Document(object plugin.Object) (map[string]any, error) {
	raw, err := plugin.AppendJSON(nil, object)
	if err != nil {
		return nil, err
	}
	var document map[string]any
	return document, utiljson.Unmarshal(raw, &document)
}

// scratch are slices to write documents into before their length is known. A
// bundle is long, and a slice that grows with it costs more than writing it.
var scratch = sync.Pool{New: func() any { return new([]byte) }}

// Documents writes objects as JSON documents, one a line, separated as in a YAML
// stream.
func Documents(objects []plugin.Object) ([]byte, error) {
	buffer := scratch.Get().(*[]byte)
	defer scratch.Put(buffer)
	out := (*buffer)[:0]
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
	*buffer = out
	return bytes.Clone(out), nil
}
