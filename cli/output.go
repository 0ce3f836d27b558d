// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/trellis-network/trellis/pipeline"
	"github.com/trellis-network/trellis/plugin"
)

// The formats of objects.
const (
	formatYAML = "yaml"
	formatJSON = "json"
	formatDir  = "dir"
)

// output is the format of the objects, and the directory to write them to.
type output struct{ format, directory string }

// set takes the value of the flag.
func (o *output) set(value string) error {
	format, directory, hasPath := strings.Cut(value, "=")
	switch {
	case format == formatDir && directory != "":
	case !hasPath && (format == formatYAML || format == formatJSON):
	default:
		return errors.New("must be yaml, json or dir=PATH")
	}
	*o = output{format, directory}
	return nil
}

// write writes all objects or nothing to w. For a directory it returns the files in it that
// are not of this network, which it leaves as they are.
func (o *output) write(w io.Writer, objects []plugin.Object) (leftAlone []string, err error) {
	documents, texts := make([]map[string]any, len(objects)), make([][]byte, len(objects))
	for i, object := range objects {
		if documents[i], err = pipeline.Document(object); err != nil {
			return nil, err
		}
		if texts[i], err = yaml.Marshal(documents[i]); err != nil {
			return nil, err
		}
	}
	text := bytes.Join(texts, []byte("---\n"))
	switch o.format {
	case formatDir:
		return o.writeFiles(objects, texts)
	case formatJSON:
		text, err = json.MarshalIndent(map[string]any{"apiVersion": "v1", "kind": "List", "items": documents}, "", "    ")
		text = append(text, '\n')
	}
	if err == nil {
		_, err = w.Write(text)
	}
	return nil, err
}

func (o *output) writeFiles(objects []plugin.Object, texts [][]byte) (leftAlone []string, err error) {
	if err := os.MkdirAll(o.directory, 0o755); err != nil {
		return nil, err
	}
	own := map[string]bool{}
	for i, object := range objects {
		name := fileName(object)
		own[name] = true
		if err := os.WriteFile(filepath.Join(o.directory, name), texts[i], 0o644); err != nil {
			return nil, err
		}
	}
	entries, err := os.ReadDir(o.directory)
	for _, entry := range entries {
		if !own[entry.Name()] {
			leftAlone = append(leftAlone, entry.Name())
		}
	}
	return leftAlone, err
}

// fileName is an object's file: kind.group_namespace_name.yaml. No name has an underscore.
func fileName(object plugin.Object) string {
	kind := object.GetObjectKind().GroupVersionKind().GroupKind()
	parts := []string{strings.ToLower(kind.Kind)}
	if kind.Group != "" {
		parts[0] += "." + kind.Group
	}
	if namespace := object.GetNamespace(); namespace != "" {
		parts = append(parts, namespace)
	}
	parts = append(parts, object.GetName())
	for i := range parts {
		parts[i] = strings.ReplaceAll(url.PathEscape(parts[i]), ":", "%3A")
	}
	return strings.Join(parts, "_") + ".yaml"
}
