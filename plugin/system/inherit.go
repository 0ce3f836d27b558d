// SPDX-License-Identifier: Apache-2.0

package system

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// longestChecksum is how long a value may be that is kept. Those of Gardener's extensions have 64
// characters.
const longestChecksum = 128

// StartedWith returns plugin.Inherited.Checksums of present objects: the values that the pods'
// ChecksumAnnotations have, by the Checksum of the ConfigMap's data that they stand for. configs
// are the names of the ConfigMaps by those of the annotations. JSON in the data counts without
// spaces between its parts. What is as a new network has it is left out; the result is nil if
// nothing remains.
func StartedWith(present []unstructured.Unstructured, configs map[string]string) map[string]string {
	own := map[string]string{}
	for i := range present {
		if present[i].GetKind() == "ConfigMap" {
			own[present[i].GetName()] = Checksum(compact(&present[i]))
		}
	}
	var found map[string]string
	for i := range present {
		annotations, _, _ := unstructured.NestedStringMap(present[i].Object, "spec", "template", "metadata", "annotations")
		for _, annotation := range slices.Sorted(maps.Keys(configs)) {
			value, sum := annotations[annotation], own[configs[annotation]]
			if value == "" || sum == "" || value == sum || len(value) > longestChecksum {
				continue
			}
			if found == nil {
				found = map[string]string{}
			}
			found[sum] = value
		}
	}
	return found
}

// compact returns a ConfigMap's data with the JSON objects in it without spaces.
func compact(object *unstructured.Unstructured) *corev1.ConfigMap {
	data, _, _ := unstructured.NestedStringMap(object.Object, "data")
	for key, value := range data {
		short := &bytes.Buffer{}
		if strings.HasPrefix(strings.TrimSpace(value), "{") && json.Compact(short, []byte(value)) == nil {
			data[key] = short.String()
		}
	}
	return &corev1.ConfigMap{Data: data}
}
