// SPDX-License-Identifier: Apache-2.0

package bundle

import (
	"bytes"
	"strings"
	"testing"

	"github.com/andybalholm/brotli"
	. "github.com/onsi/gomega"

	"github.com/trellis-network/trellis/test/contract"
)

func compressed(t *testing.T, text string) []byte {
	t.Helper()
	var buffer bytes.Buffer
	w := brotli.NewWriter(&buffer)
	if _, err := w.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return buffer.Bytes()
}

// What may be in a Secret.
func TestSecretsAreDecoded(t *testing.T) {
	contract.Shows(t, "R1", "R2")
	const one = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: one}\n"
	const two = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"two"}}`
	const list = `{"apiVersion":"v1","kind":"List","items":[` + two + `]}`
	for name, c := range map[string]struct {
		data     map[string][]byte
		names    []string
		problems []string
	}{
		"a document":          {data: map[string][]byte{"a": []byte(one)}, names: []string{"one"}},
		"several documents":   {data: map[string][]byte{"a": []byte(one + "---\n" + two)}, names: []string{"one", "two"}},
		"keys in their order": {data: map[string][]byte{"b": []byte(one), "a": []byte(two)}, names: []string{"two", "one"}},
		"empty documents":     {data: map[string][]byte{"a": []byte("---\n\n---\n# nothing\n---\n" + one + "---\n")}, names: []string{"one"}},
		"compressed":          {data: map[string][]byte{"a.yaml.br": compressed(t, one+"---\n"+two)}, names: []string{"one", "two"}},
		"not compressed after all": {
			data:     map[string][]byte{"a.br": []byte(one), "b": []byte(two)},
			names:    []string{"two"},
			problems: []string{"Secret s, key a.br: the value is not brotli-compressed: "},
		},
		"one broken of three": {
			data:     map[string][]byte{"a": []byte(one + "---\nkind: [\n---\n" + two)},
			names:    []string{"one", "two"},
			problems: []string{"Secret s, key a, document 2: "},
		},
		"no kind": {
			data:     map[string][]byte{"a": []byte("apiVersion: v1\nmetadata: {name: x}")},
			problems: []string{"Secret s, key a, document 1: "},
		},
		"no name": {
			data:     map[string][]byte{"a": []byte("apiVersion: v1\nkind: ConfigMap\n")},
			problems: []string{"Secret s, key a, document 1: ConfigMap without metadata.name"},
		},
		"a list": {
			data:     map[string][]byte{"a": []byte(list)},
			problems: []string{"Secret s, key a, document 1: List without metadata.name"},
		},
		"aliases": {
			data:     map[string][]byte{"a": []byte(one + "data: {a: &a b, c: *a}")},
			problems: []string{"Secret s, key a, document 1: it has a YAML anchor or alias (& or *), which is not allowed"},
		},
		"compressed, and far too large": {
			data:     map[string][]byte{"a.br": compressed(t, strings.Repeat(" ", mostDecompressed+1)), "b": []byte(two)},
			names:    []string{"two"},
			problems: []string{"Secret s, key a.br: the value is more than 64 MiB when decompressed"},
		},
		"just text": {
			data:     map[string][]byte{"a": []byte("hello")},
			problems: []string{"Secret s, key a, document 1: "},
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			documents, problems := Decode("s", c.data)
			var names []string
			for _, document := range documents {
				names = append(names, document.GetName())
			}
			g.Expect(names).To(Equal(c.names))
			g.Expect(problems).To(HaveLen(len(c.problems)))
			for i := range problems {
				g.Expect(problems[i]).To(HavePrefix(c.problems[i]))
			}
		})
	}
}

// A value at the end of a document is what it is elsewhere.
func TestTheEndOfADocumentIsKept(t *testing.T) {
	g := NewWithT(t)
	documents, problems := Decode("s", map[string][]byte{"a": []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  a: |\n    b\n---\n")})
	g.Expect(problems).To(BeEmpty())
	g.Expect(documents[0].Object["data"]).To(Equal(map[string]any{"a": "b\n"}))
}

// FuzzDecode: no content of a Secret makes the operator panic.
func FuzzDecode(f *testing.F) {
	f.Add([]byte("a: b\n---\n{"), true)
	f.Add([]byte(`{"kind":"List","apiVersion":"v1","items":[1]}`), false)
	f.Fuzz(func(_ *testing.T, value []byte, br bool) {
		key := "k"
		if br {
			key += compressedSuffix
		}
		Decode("s", map[string][]byte{key: value})
	})
}
