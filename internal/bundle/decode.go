// SPDX-License-Identifier: Apache-2.0

package bundle

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/andybalholm/brotli"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"

	resourcesv1alpha1 "github.com/trellis-network/trellis/api/resources/v1alpha1"
	"github.com/trellis-network/trellis/internal/strictjson"
)

const (
	// compressedSuffix ends the keys whose values are compressed.
	compressedSuffix = ".br"
	// mostDecompressed bounds what a value may become; a Secret has at most one
	// mebibyte.
	mostDecompressed = 64 << 20
)

// Decode returns the objects in a Secret's data, by sorted keys, and what could
// not be decoded, as sentences. One broken document does not affect the others.
func Decode(secretName string, data map[string][]byte) (objects []*unstructured.Unstructured, problems []string) {
	for _, key := range slices.Sorted(maps.Keys(data)) {
		where := fmt.Sprintf("Secret %s, key %s", secretName, key)
		content, err := decompress(key, data[key])
		if err != nil {
			problems = append(problems, fmt.Sprintf("%s: %v", where, err))
			continue
		}
		reader := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(content)))
		for number := 1; ; number++ {
			text, err := reader.Read()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				problems = append(problems, fmt.Sprintf("%s, document %d: %v", where, number, err))
				break
			}
			object, err := decodeDocument(text)
			if err != nil {
				problems = append(problems, fmt.Sprintf("%s, document %d: %v", where, number, err))
			} else if object != nil {
				objects = append(objects, object)
			}
		}
	}
	return objects, problems
}

func decompress(key string, value []byte) ([]byte, error) {
	if !strings.HasSuffix(key, compressedSuffix) {
		return value, nil
	}
	content, err := io.ReadAll(io.LimitReader(brotli.NewReader(bytes.NewReader(value)), mostDecompressed+1))
	if err != nil {
		return nil, fmt.Errorf("the value is not brotli-compressed: %w", err)
	}
	if len(content) > mostDecompressed {
		return nil, fmt.Errorf("the value is more than %d MiB when decompressed", mostDecompressed>>20)
	}
	return content, nil
}

// decodeDocument returns the object in a document, nil if it is empty.
func decodeDocument(text []byte) (*unstructured.Unstructured, error) {
	content := bytes.TrimSpace(text) // whose end may belong to a value: a line break does
	if len(content) == 0 {
		return nil, nil
	}
	if content[0] != '{' {
		converted, err := strictjson.FromYAML(text, mostDecompressed)
		if err != nil {
			return nil, fmt.Errorf("it %w", err)
		}
		if text = converted; string(text) == "null" {
			return nil, nil
		}
	}
	object := &unstructured.Unstructured{}
	if err := object.UnmarshalJSON(text); err != nil {
		return nil, err
	}
	switch {
	case object.GetAPIVersion() == "":
		return nil, errors.New("apiVersion is missing")
	case object.GetName() == "":
		return nil, fmt.Errorf("%s without metadata.name", object.GetKind())
	}
	return object, nil
}

// Malformed is the error that the Secrets of a ManagedResource cannot be decoded.
type Malformed struct{ message string }

// Error implements error.
func (e *Malformed) Error() string { return e.message }

// Read returns the objects that a ManagedResource's Secrets hold. A Secret that is
// missing is an error, and one that cannot be decoded is a *Malformed.
func Read(ctx context.Context, c client.Reader, mr *resourcesv1alpha1.ManagedResource) ([]unstructured.Unstructured, error) {
	var objects []unstructured.Unstructured
	for _, ref := range mr.Spec.SecretRefs {
		secret := &corev1.Secret{}
		if err := c.Get(ctx, client.ObjectKey{Namespace: mr.Namespace, Name: ref.Name}, secret); err != nil {
			return nil, fmt.Errorf("read the Secret %s of the ManagedResource %s: %w", ref.Name, mr.Name, err)
		}
		decoded, problems := Decode(secret.Name, secret.Data)
		if len(problems) > 0 {
			return nil, &Malformed{fmt.Sprintf("decode the ManagedResource %s: %s", mr.Name, strings.Join(problems, "; "))}
		}
		for _, object := range decoded {
			objects = append(objects, *object)
		}
	}
	return objects, nil
}
