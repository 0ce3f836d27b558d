// SPDX-License-Identifier: Apache-2.0

package plugintest

import (
	"bytes"
	"encoding/json"
	"strings"
)

// member is a field of a JSON object.
type member struct {
	name string
	json json.RawMessage
}

// fieldsIn are the fields of a JSON object in its order; none of what is no object.
func fieldsIn(object []byte) []member {
	decoder := json.NewDecoder(bytes.NewReader(object))
	if token, err := decoder.Token(); err != nil || token != json.Delim('{') {
		return nil
	}
	var members []member
	for decoder.More() {
		name, err := decoder.Token()
		if err != nil {
			return members
		}
		one := member{}
		one.name, _ = name.(string)
		if decoder.Decode(&one.json) != nil {
			return members
		}
		members = append(members, one)
	}
	return members
}

// flatten are the values of a config by path, as JSON. Lists are values; an empty
// object is one too. apiVersion and kind are not part of it.
func flatten(config []byte) map[string]string {
	leaves := map[string]string{}
	collect(leaves, "", config)
	delete(leaves, "apiVersion")
	delete(leaves, "kind")
	return leaves
}

func collect(into map[string]string, prefix string, object []byte) {
	for _, member := range fieldsIn(object) {
		path := strings.TrimPrefix(prefix+"."+member.name, ".")
		if len(fieldsIn(member.json)) > 0 {
			collect(into, path, member.json)
			continue
		}
		into[path] = string(member.json)
	}
}
