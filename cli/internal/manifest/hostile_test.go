// SPDX-License-Identifier: Apache-2.0

package manifest_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/trellis-network/trellis/cli/internal/manifest"
)

const megabyte = 1 << 20

// hostile are inputs that are made to crash, stall or flood their reader, and a
// part of what has to be said about each.
func hostile() map[string]struct{ input, said string } {
	random := rand.NewChaCha8([32]byte{})
	junk := make([]byte, megabyte)
	_, _ = random.Read(junk)
	letters := strings.Map(func(r rune) rune { return ' ' + r%95 }, string(junk))
	type s = struct{ input, said string }
	return map[string]s{
		"junk":                 {string(junk), "is not text in UTF-8"},
		"printable junk":       {letters, ""},
		"one long line":        {strings.Repeat("a", megabyte), "is not an object"},
		"newlines":             {strings.Repeat("\n", megabyte), "has no document"},
		"markers":              {strings.Repeat("---\n", megabyte/4), "has no document"},
		"too many documents":   {strings.Repeat("---\na\n", megabyte/6), "has more than 1000 documents"},
		"too many JSON values": {strings.Repeat("{}", megabyte/2), ""},
		"too large":            {strings.Repeat("#", 9*megabyte), "is larger than 8 MiB"},
		"UTF-16":               {"\xff\xfea\x00", "is not text in UTF-8: byte 1 is 0xff"},

		"nested flow lists":    {strings.Repeat("[", megabyte), "cannot be read as YAML"},
		"nested flow objects":  {strings.Repeat("{a: ", megabyte/4), "cannot be read as YAML"},
		"nested block lists":   {strings.Repeat("- ", megabyte/2), "cannot be read as YAML"},
		"nested block objects": {nestedBlocks(1500), "nested more than 100 levels"},
		"nested lists":         {"a: [{b: " + strings.Repeat("[", 120) + strings.Repeat("]", 120) + "}]", ": it is nested more than 100 levels deep"},
		"nested JSON":          {`{"a":` + strings.Repeat("[", 9000) + strings.Repeat("]", 9000) + "}", "nested more than 100 levels"},
		"deeper JSON":          {`{"a":` + strings.Repeat("[", megabyte/2) + strings.Repeat("]", megabyte/2) + "}", "cannot be read as YAML"},
		"question marks":       {strings.Repeat("? ", megabyte/2), "cannot be read as YAML"},
		"tags":                 {strings.Repeat("!!", megabyte/2), ""},

		"aliases that multiply lists":  {laughs(), "excessive aliasing"},
		"aliases that multiply text":   {"a: &a " + strings.Repeat("x", megabyte/2) + "\nb: [" + strings.Repeat("*a,", megabyte/6) + "]", "grows beyond 8 MiB"},
		"an alias of itself":           {"a: &a [*a]", "cannot be read as YAML"},
		"an alias of nothing":          {"a: *b", "cannot be read as YAML"},
		"a number beyond all numbers":  {"apiVersion: v1\nkind: List\nitems: [" + strings.Repeat("9", megabyte) + "]", ""},
		"infinity":                     {"a: .inf", "cannot be read as YAML"},
		"a key that is an object":      {"{a: b}: c", "cannot be read as YAML"},
		"a List in Lists":              {`{"apiVersion":"v1","kind":"List","items":[{"apiVersion":"v1","kind":"List","items":[]}]}`, "is a List in a List"},
		"a List of nothing in it":      {`{"apiVersion":"v1","kind":"List","items":[null,1,"a",[]]}`, "is not an object"},
		"a List that is none":          {`{"apiVersion":"v1","kind":"List","items":{}}`, "items must be a list"},
		"an empty List":                {`{"apiVersion":"v1","kind":"List"}`, "the input has no Network, no Shoot and no NetworkConfig"},
		"types where none is expected": {"apiVersion: [1]\nkind: {a: b}", "has no apiVersion or no kind"},
		"a Shoot of nothing":           {"apiVersion: core.gardener.cloud/v1beta1\nkind: Shoot\nspec: null", "spec: Required value"},
		"a Shoot of lists":             {"apiVersion: core.gardener.cloud/v1beta1\nkind: Shoot\nspec: []\nstatus: [1]\nmetadata: 7", "metadata: Invalid value: 7: must be an object, not a number"},
		"a Network of nothing":         {"apiVersion: extensions.gardener.cloud/v1alpha1\nkind: Network\nmetadata: {name: a}\nspec:", "spec: Required value"},
		"a Cluster of nothing":         {"apiVersion: extensions.gardener.cloud/v1alpha1\nkind: Cluster\nmetadata: {name: a}\nspec: {cloudProfile: 1, shoot: null}", "spec.shoot: Required value"},
		"a Cluster of scalars":         {"apiVersion: extensions.gardener.cloud/v1alpha1\nkind: Cluster\nmetadata: {name: a}\nspec: {cloudProfile: 1, shoot: 2}", "spec.shoot: Invalid value: 2: must be an object"},
	}
}

func nestedBlocks(depth int) string {
	var text strings.Builder
	for i := range depth {
		fmt.Fprintf(&text, "%sa:\n", strings.Repeat(" ", i))
	}
	return text.String()
}

// laughs is the "billion laughs": each line is nine times the one before.
func laughs() string {
	text := "a0: &a0 [lol]\n"
	for i := range 12 {
		text += fmt.Sprintf("a%d: &a%d [%s]\n", i+1, i+1, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d,", i), 9), ","))
	}
	return text
}

func TestHostileInputIsRefusedBrieflyAndSoon(t *testing.T) {
	for name, each := range hostile() {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			start := time.Now()
			var set manifest.Set
			set.Add("-", []byte(each.input))
			subjects, problems := set.Subjects()
			// Each takes a fraction of a second; a busy machine is no failure.
			g.Expect(time.Since(start)).To(BeNumerically("<", 30*time.Second))
			g.Expect(subjects).To(BeEmpty())
			g.Expect(problems).NotTo(BeEmpty())
			if each.said != "" {
				g.Expect(problems[0].Err).To(MatchError(ContainSubstring(each.said)))
			}
		})
	}
}

func TestAnchorsWorkAsInAnyYAML(t *testing.T) {
	g := NewWithT(t)
	var set manifest.Set
	set.Add("-", []byte("\ufeff"+strings.ReplaceAll(`%YAML 1.1
--- # a comment behind the marker
apiVersion: extensions.gardener.cloud/v1alpha1
kind: Network
metadata: {name: &name net, namespace: *name}
spec: {type: *name, serviceCIDR: 10.0.0.0/16}
...
`, "\n", "\r\n")))
	subjects, problems := set.Subjects()
	g.Expect(problems).To(BeEmpty())
	g.Expect(subjects).To(HaveLen(1))
	g.Expect(subjects[0].Network.Spec.Type).To(Equal("net"))
}

func FuzzSet(f *testing.F) {
	for _, each := range hostile() {
		if len(each.input) < 1<<14 {
			f.Add([]byte(each.input))
		}
	}
	f.Add([]byte(`apiVersion: core.gardener.cloud/v1beta1
kind: Shoot
metadata: {name: mine, namespace: garden-dev, creationTimestamp: null, labels: {a: b}}
spec:
  provider: {type: dry, workers: [{name: a, minimum: 1, maximum: 3, zones: ["1"]}]}
  kubernetes: {version: 1.36.3, kubeProxy: {enabled: false, mode: IPVS}, kubeAPIServer: {featureGates: {A: true}}}
  networking: {type: noop, pods: 10.0.0.0/8, ipFamilies: [IPv4], providerConfig: {a: [1, 2.5, {b: null}]}}
status: {technicalID: shoot--x--y, networking: {pods: [10.0.0.0/8]}, constraints: [{type: A, status: "True"}]}
---
apiVersion: extensions.gardener.cloud/v1alpha1
kind: Network
metadata: {name: net, namespace: shoot--x--y, finalizers: [a/b], managedFields: [{fieldsV1: {"f:spec": {}}}]}
spec: {type: noop, class: shoot, clusterCIDR: 10.0.0.0/8, serviceCIDR: 11.0.0.0/8, cloudProvider: dry, ipFamilies: [IPv6]}
status: {state: {applied: {config: {}}}, providerStatus: 1}
---
apiVersion: extensions.gardener.cloud/v1alpha1
kind: Cluster
metadata: {name: shoot--x--z}
spec: {cloudProfile: {}, seed: null, shoot: {metadata: {name: z}, spec: {provider: {type: dry}}}}
`))
	f.Fuzz(func(t *testing.T, input []byte) {
		var set manifest.Set
		set.Add("-", input)
		subjects, problems := set.Subjects()
		if len(subjects)+len(problems) == 0 {
			t.Fatal("an input is something, or something is wrong with it")
		}
		for _, problem := range problems {
			_ = problem.Source.Label(true, true) + problem.Err.Error()
		}
		for i := range subjects {
			if subjects[i].Network == nil || subjects[i].Network.Namespace == "" {
				t.Fatalf("%s has no Network, or one without a namespace", subjects[i])
			}
		}
	})
}
