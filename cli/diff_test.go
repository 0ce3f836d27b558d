// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"pgregory.net/rapid"

	"github.com/trellis-network/trellis/internal/bundle"
	"github.com/trellis-network/trellis/plugin"
)

// documents are the objects in a file of testdata.
func documents(t *testing.T, name string) []located {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return decoded(t, string(text))
}

func decoded(t *testing.T, text string) []located {
	t.Helper()
	found, problems := bundle.Decode("s", map[string][]byte{"k": []byte(text)})
	NewWithT(t).Expect(problems).To(BeEmpty())
	var all []located
	for _, object := range found {
		all = append(all, located{string(plugin.Shoot), object.Object})
	}
	return all
}

// allOf are differences as users read them.
func allOf(found []difference) string {
	var text strings.Builder
	for i := range found {
		text.WriteString(painted(&found[i], false))
	}
	return text.String()
}

// testdata/objects.diff shows reviewers how differences are shown.
func TestDifferencesAreReadable(t *testing.T) {
	g := NewWithT(t)
	found := differences(documents(t, "before.yaml"), documents(t, "after.yaml"))
	want, err := os.ReadFile("testdata/objects.diff")
	g.Expect(err).NotTo(HaveOccurred())
	var text strings.Builder
	g.Expect((&plan{differences: found}).print(&text)).To(Succeed())
	g.Expect(text.String()).To(Equal(string(want)))
}

func TestWhatIsNoDifferenceIsNotShown(t *testing.T) {
	const a, b = "apiVersion: v1\nkind: A\nmetadata: {name: a}\n", "apiVersion: v1\nkind: A\nmetadata: {name: b}\n"
	for name, test := range map[string]struct{ before, after string }{
		"the order of keys":         {a + "b: {c: 1, d: 2}", "b: {d: 2, c: 1}\n" + a},
		"the order of objects":      {a + "---\n" + b, b + "---\n" + a},
		"a status":                  {a + "status: {b: 1}", a},
		"what an API server writes": {strings.Replace(a, "name: a", "name: a, uid: x, resourceVersion: '1', generation: 2, managedFields: [{}], creationTimestamp: x", 1), a},
		"null":                      {a + "b: [{c: null}]", a + "b: [{}]"},
		"unstated resources":        {a + "b: [{resources: {}}]", a + "b: [{}]"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			g.Expect(differences(decoded(t, test.before), decoded(t, test.after))).To(BeEmpty())
			g.Expect(differences(decoded(t, test.after), decoded(t, test.before))).To(BeEmpty())
		})
	}
}

func TestWhatMeansSomethingIsShown(t *testing.T) {
	g := NewWithT(t)
	const a = "apiVersion: v1\nkind: A\nmetadata: {name: a}\n"
	found := differences(decoded(t, a+"podSelector: {}"), decoded(t, a))
	g.Expect(allOf(found)).To(ContainSubstring("-podSelector: {}\n"))
}

func TestAnotherVersionIsTheSameObject(t *testing.T) {
	g := NewWithT(t)
	of := func(version string) []located {
		return decoded(t, "apiVersion: "+version+"\nkind: A\nmetadata: {name: a}\n")
	}
	found := differences(of("a/v1"), of("a/v2"))
	g.Expect(allOf(found)).To(ContainSubstring("-apiVersion: a/v1\n+apiVersion: a/v2\n"))
	found = differences(of("a/v1"), of("b/v1"))
	g.Expect(found).To(HaveLen(2), "of another group it is another object")
}

func TestSecretsStaySecret(t *testing.T) {
	for name, test := range map[string]struct{ before, after, shown string }{
		"comes":         {"", "data: {a: s3cret}", "+  a: '***'\n"},
		"goes":          {"data: {a: s3cret}", "", "-  a: '***'\n"},
		"changes":       {"stringData: {a: s3cret}", "stringData: {a: s3creT}", "-  a: '*** (before)'\n+  a: '*** (after)'\n"},
		"that is none":  {"", "data: s3cret", "+data: '***'\n"},
		"what was once": {`metadata: {name: a, annotations: {kubectl.kubernetes.io/last-applied-configuration: s3cret}}`, "", "-kind: Secret\n"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			secret := func(fields string) []located {
				if fields == "" {
					return nil
				}
				if !strings.HasPrefix(fields, "metadata") {
					fields = "metadata: {name: a}\n" + fields
				}
				return decoded(t, "apiVersion: v1\nkind: Secret\n"+fields)
			}
			found := differences(secret(test.before), secret(test.after))
			g.Expect(allOf(found)).To(ContainSubstring(test.shown))
			g.Expect(strings.ToLower(allOf(found))).NotTo(ContainSubstring("s3cret"))
		})
	}
}

func TestTerminalsAreNotConfused(t *testing.T) {
	g := NewWithT(t)
	found := differences(nil, decoded(t, `{"apiVersion":"v1","kind":"A\u001b[31m","metadata":{"name":"a\u202e"},"b":"\u001b[2J\u202e"}`))
	g.Expect(allOf(found)).NotTo(ContainSubstring("\x1b"))
	g.Expect(allOf(found)).NotTo(ContainSubstring("\u202e"))
	for line := range strings.Lines(painted(&found[0], true)) {
		g.Expect(line).To(HavePrefix("\x1b["))
		g.Expect(line).To(HaveSuffix("\x1b[0m\n"))
	}
}

// A diff, applied to the lines before, gives the lines after.
func TestADiffLeadsFromOneToTheOther(t *testing.T) {
	line := rapid.StringMatching(`( {0,4}(- )?[a-c]:( [xy])?)`)
	rapid.Check(t, func(t *rapid.T) {
		lines := func(label string) []string {
			var all []string
			for _, each := range rapid.SliceOfN(line, 0, 40).Draw(t, label) {
				all = append(all, each+"\n")
			}
			return all
		}
		before, after := lines("before"), lines("after")
		if got := patched(t, before, unified(before, after)); !slices.Equal(got, after) {
			t.Fatalf("%q is not %q", got, after)
		}
	})
}

// patched applies a diff as patch does.
func patched(t *rapid.T, before []string, diff string) []string {
	var after []string
	at := 0
	for each := range strings.Lines(diff) {
		switch mark, text := each[0], each[1:]; mark {
		case '@':
			start := strings.Fields(text)[1]
			var from, length int
			if n, _ := fmt.Sscanf(start, "-%d,%d", &from, &length); n < 2 {
				length = 1
			}
			if length > 0 {
				from--
			}
			after = append(after, before[at:from]...)
			at = from
		case '+':
			after = append(after, text)
		default:
			if before[at] != text {
				t.Fatalf("line %d is %q, not %q", at, before[at], text)
			}
			if mark == ' ' {
				after = append(after, text)
			}
			at++
		}
	}
	return append(after, before[at:]...)
}
