// SPDX-License-Identifier: Apache-2.0

package strictjson_test

import (
	"testing"

	. "github.com/onsi/gomega"

	"github.com/trellis-network/trellis/internal/strictjson"
)

func TestYAMLBecomesJSON(t *testing.T) {
	for text, document := range map[string]string{
		"a: b":                          `{"a":"b"}`,
		`{"a":"b"}`:                     `{"a":"b"}`,
		"a: '*b & &c'\nd: |\n  *e &f\n": `{"a":"*b & &c","d":"*e &f\n"}`,
		"# *a &b\na: yes":               `{"a":true}`,
		"":                              "null",
	} {
		got, err := strictjson.FromYAML([]byte(text), 100)
		NewWithT(t).Expect(err).NotTo(HaveOccurred(), text)
		NewWithT(t).Expect(string(got)).To(MatchJSON(document))
	}
}

func TestYAMLThatCanGrowIsRefused(t *testing.T) {
	for text, problem := range map[string]string{
		"a: &a b":               "has a YAML anchor or alias",
		"a: &a b\nc: *a":        "has a YAML anchor or alias",
		"- [{b: &a c}]":         "has a YAML anchor or alias",
		"? &a b\n: c":           "has a YAML anchor or alias",
		"a: *b":                 "is not YAML: ",
		"a: [":                  "is not YAML: ",
		"a: 0123456789ABCDEF01": "has 21 bytes; at most 20 are allowed",
	} {
		_, err := strictjson.FromYAML([]byte(text), 20)
		NewWithT(t).Expect(err).To(MatchError(HavePrefix(problem)), text)
	}
}

// FuzzFromYAML: no text makes the operator panic, or gives more than it has.
func FuzzFromYAML(f *testing.F) {
	f.Add([]byte("a: &a [b]\nc: [*a, *a]"))
	f.Fuzz(func(t *testing.T, text []byte) {
		document, err := strictjson.FromYAML(text, 1<<10)
		if err == nil && len(document) > 64*len(text)+64 {
			t.Fatalf("%d bytes became %d", len(text), len(document))
		}
	})
}
