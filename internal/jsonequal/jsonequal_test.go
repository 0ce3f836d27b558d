// SPDX-License-Identifier: Apache-2.0

package jsonequal_test

import (
	"encoding/json"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/trellis-network/trellis/internal/jsonequal"
)

func TestValuesAreComparedByTheirEncoding(t *testing.T) {
	type object struct {
		A int    `json:"a"`
		B string `json:"b,omitempty"`
	}
	for _, test := range []struct {
		a, b any
		same bool
	}{
		{object{A: 1}, map[string]any{"a": 1}, true},
		{object{A: 1}, object{A: 1, B: "x"}, false},
		{json.RawMessage(`{"a": 1, "b": [{}]}`), json.RawMessage(`{"b":[{}],"a":1}`), true},
		{json.RawMessage(`[1, 2]`), json.RawMessage(`[2, 1]`), false},
		{json.RawMessage(`9007199254740993`), json.RawMessage(`9007199254740992`), false},
		{json.RawMessage(`null`), json.RawMessage(`{}`), false},
		{nil, json.RawMessage(`null`), true},
	} {
		same, err := jsonequal.Values(test.a, test.b)
		NewWithT(t).Expect(err).NotTo(HaveOccurred())
		NewWithT(t).Expect(same).To(Equal(test.same), "%s and %s", test.a, test.b)
	}
}

func TestValuesThatCannotBeEncodedAreErrors(t *testing.T) {
	for _, values := range [][2]any{{json.RawMessage(`{`), 1}, {1, make(chan int)}} {
		_, err := jsonequal.Values(values[0], values[1])
		NewWithT(t).Expect(err).To(HaveOccurred())
	}
}
