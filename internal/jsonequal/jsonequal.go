// SPDX-License-Identifier: Apache-2.0

// Package jsonequal compares values by their JSON encoding. API servers store JSON, and
// neither keep the order of keys nor white space.
package jsonequal

import (
	"bytes"
	"encoding/json"
	"reflect"
)

// Values reports whether a and b have the same JSON encoding, whatever the order of keys.
// Numbers are the same if they are written the same. It fails if a value cannot be
// encoded, such as a runtime.RawExtension with broken content.
func Values(a, b any) (bool, error) {
	one, err := normalized(a)
	if err != nil {
		return false, err
	}
	two, err := normalized(b)
	return err == nil && reflect.DeepEqual(one, two), err
}

func normalized(value any) (result any, err error) {
	raw, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	err = decoder.Decode(&result)
	return result, err
}
