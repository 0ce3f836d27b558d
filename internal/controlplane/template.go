// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"

	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/client-go/util/jsonpath"

	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
)

// maxConfig is how many bytes a cloud config has at most, far less than a ConfigMap.
const maxConfig = 256 << 10

// For returns what a control plane with an Infrastructure gets: Template, with what the
// Infrastructure has at its paths, becomes Config. It fails if a path leads to nothing, or to
// what is no text, number or boolean. A Cloud without Template is returned as it is.
func (c Cloud) For(infrastructure *extensionsv1alpha1.Infrastructure) (Cloud, error) {
	if c.Template == "" {
		return c, nil
	}
	config, err := render(c.Template, infrastructure)
	return Cloud{VolumePlugin: c.VolumePlugin, Config: config}, err
}

func render(template string, infrastructure *extensionsv1alpha1.Infrastructure) (string, error) {
	raw, err := utiljson.Marshal(infrastructure)
	if err != nil {
		return "", err
	}
	document := map[string]any{}
	if err := utiljson.Unmarshal(raw, &document); err != nil {
		return "", err
	}
	parsed := jsonpath.New("cloudConfigTemplate")
	if err := parsed.Parse(template); err != nil {
		return "", err
	}
	parts, err := parsed.FindResults(document)
	if err != nil {
		return "", err
	}
	config := &bytes.Buffer{}
	for _, values := range parts {
		if err := checkValues(values); err != nil {
			return "", err
		}
		if err := parsed.PrintResults(config, values); err != nil {
			return "", err
		}
		if config.Len() > maxConfig {
			return "", fmt.Errorf("the cloud config has more than %d bytes", maxConfig)
		}
	}
	if config.Len() == 0 {
		return "", errors.New("the cloud config is empty")
	}
	return config.String(), nil
}

// checkValues refuses what has no obvious text.
func checkValues(values []reflect.Value) error {
	if len(values) == 0 {
		return errors.New("an expression finds nothing")
	}
	for _, value := range values {
		if value.Kind() == reflect.Interface {
			value = value.Elem()
		}
		switch value.Kind() {
		case reflect.String, reflect.Bool, reflect.Int64, reflect.Float64:
		default:
			return errors.New("an expression finds what is no text, number or boolean")
		}
	}
	return nil
}
