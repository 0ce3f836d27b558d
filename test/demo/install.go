// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
)

// readShoot returns the one Shoot in a file.
func readShoot(file string) (*unstructured.Unstructured, error) {
	documents, err := readDocuments(file)
	if err != nil {
		return nil, err
	}
	var shoots []*unstructured.Unstructured
	for _, document := range documents {
		if document.GroupVersionKind() == corev1beta1.GroupVersion.WithKind("Shoot") {
			shoots = append(shoots, document)
		}
	}
	if len(shoots) != 1 {
		return nil, fmt.Errorf("%s must have one Shoot of %s, but has %d", file, corev1beta1.GroupVersion, len(shoots))
	}
	if shoots[0].GetNamespace() == "" || shoots[0].GetName() == "" {
		return nil, fmt.Errorf("%s: the Shoot needs metadata.name and metadata.namespace", file)
	}
	return shoots[0], nil
}

func readDocuments(file string) ([]*unstructured.Unstructured, error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var documents []*unstructured.Unstructured
	decoder := utilyaml.NewYAMLOrJSONDecoder(bytes.NewReader(content), 4096)
	for {
		document := &unstructured.Unstructured{}
		switch err := decoder.Decode(&document.Object); {
		case errors.Is(err, io.EOF):
			return documents, nil
		case err != nil:
			return nil, fmt.Errorf("%s: %w", file, err)
		case len(document.Object) > 0:
			documents = append(documents, document)
		}
	}
}

// apply creates the Shoot.
func (d *demo) apply(ctx context.Context, shoot *unstructured.Unstructured) error {
	d.say("applying Shoot %s", d.shoot.Key())
	return d.shoot.Apply(ctx, shoot)
}
