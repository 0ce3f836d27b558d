// SPDX-License-Identifier: Apache-2.0

// Package manifest reads objects that are written in YAML: those of a network, and those
// that a chart renders.
//
//	//go:embed objects
//	var files embed.FS
//
//	var access = manifest.Constants(files, "objects/access.yaml")
//	var agent = manifest.Component(files, "objects/agent.yaml", images)
//
// It refuses to know templates: what depends on a config or on facts is set in Go.
package manifest

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"sync"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/yaml"

	"github.com/trellis-network/trellis/plugin"
)

// Constants returns the objects of a file of the program. The file is read when they are
// asked for first, and no append writes into the result. It panics on a malformed file, and
// on one that does not exist.
func Constants(files fs.FS, file string) func() []plugin.Object {
	return sync.OnceValue(func() []plugin.Object { return plugin.Constants(mustRead(files, file)...) })
}

func mustRead(files fs.FS, file string) []plugin.Object {
	content, err := fs.ReadFile(files, file)
	if err != nil {
		panic(err)
	}
	objects, err := Decode(file, string(content))
	if err != nil {
		panic(err)
	}
	return objects
}

// scheme returns the kinds that have a Kubernetes type.
var scheme = sync.OnceValue(func() *runtime.Scheme {
	all := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(all), apiextensionsv1.AddToScheme(all)); err != nil {
		panic(err)
	}
	return all
})

// Decode returns the objects of a file's content, each of its Kubernetes type, where
// there is one: the pipeline gives pods access by their type. Fields that the type does not
// have are errors. A document of nothing but comments is no object.
func Decode(file, content string) ([]plugin.Object, error) {
	var objects []plugin.Object
	documents := utilyaml.NewYAMLReader(bufio.NewReader(strings.NewReader(content)))
	for {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return objects, nil
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		if len(bytes.TrimSpace(document)) == 0 {
			continue
		}
		object, err := decode(document)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		if object != nil {
			objects = append(objects, object)
		}
	}
}

// decode returns nil for a document without content.
func decode(document []byte) (plugin.Object, error) {
	content := map[string]any{}
	if err := yaml.UnmarshalStrict(document, &content); err != nil {
		return nil, err
	}
	if len(content) == 0 {
		return nil, nil
	}
	loose := &unstructured.Unstructured{Object: content}
	if loose.GetKind() == "" || loose.GetAPIVersion() == "" {
		return nil, errors.New("a document has no apiVersion or kind")
	}
	gvk := loose.GroupVersionKind()
	if !scheme().Recognizes(gvk) {
		return loose, nil
	}
	typed, err := scheme().New(gvk)
	if err != nil {
		return nil, err
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(content, typed, true); err != nil {
		return nil, fmt.Errorf("%s %s: %w", gvk.Kind, loose.GetName(), err)
	}
	object, ok := typed.(plugin.Object)
	if !ok {
		return nil, fmt.Errorf("a %s is no object that can be applied", gvk.Kind)
	}
	return object, nil
}
