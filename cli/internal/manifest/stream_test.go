// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/yaml"
)

// What kubectl and API servers read is what is read here.
func FuzzYAMLIsReadAsKubectlReadsIt(f *testing.F) {
	files, err := filepath.Glob("../../../examples/*.yaml")
	if err != nil || len(files) == 0 {
		f.Fatal("no examples", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	for _, text := range []string{
		"a: 1\nb: 1.0\nc: 1e3\nd: 0x10\ne: 010\nf: 1_000\ng: 18446744073709551615\nh: 99999999999999999999\ni: -0\nj: 1e400",
		"a: yes\nb: ~\nc: on\nd: !!str 1\ne: !!binary YWI=\nf: 2001-01-01\ng: 2001-01-01T00:00:00Z\nh: .5\ni: '1'",
		"1: a\n2.5: b\ntrue: c\n1.0: d\n18446744073709551615: e", "{a: &x [1, {b: 2}], c: *x, <<: {d: 3}}", "a: |\n  b\n  c\nd: >-\n  e\n  f", "null", "- 1\n- [a]", "",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		all, err := decode(text)
		if err != nil || fromJSON(text) != nil || len(all) != 1 || all[0].err != nil {
			return // some of what is lenient elsewhere is refused here
		}
		got, err := json.Marshal(all[0].value)
		if err != nil {
			t.Fatalf("it is no JSON: %v", err)
		}
		want, err := yaml.YAMLToJSONStrict(text)
		if err != nil {
			t.Fatalf("kubectl does not read it: %v", err)
		}
		if string(want) == "null" {
			return // it looks only at the first document, which is empty
		}
		NewWithT(t).Expect(string(got)).To(Equal(string(want)))
	})
}
