// SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"fmt"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

func TestValidateSaysWhatIsWrongWhere(t *testing.T) {
	runAll(t, []script{
		{
			name: "a valid Shoot is one line", args: "validate -f -", stdin: shoot("mine", "{type: noop}"),
			stdout: "shoot garden-dev/mine: valid (noop)\n",
		},
		{
			name: "warnings are counted", args: "validate -f s.yaml",
			files: map[string]string{"s.yaml": shoot("mine", `{type: noop, providerConfig: {length: "7"}}`)},
			stdout: `
warning: spec.networking.providerConfig.length: is deprecated and has no effect
shoot garden-dev/mine: valid (noop, 1 warning)
`,
		},
		{
			name: "errors have the path in the Shoot, the value and what is allowed", args: "validate -f -",
			stdin: shoot("mine", `{type: noop, providerConfig: {colour: green}}`), exit: 1,
			stdout: `
error: spec.networking.providerConfig.colour: Unsupported value: "green": supported values: "red", "blue"
shoot garden-dev/mine: invalid (noop, 1 error)
`,
		},
		{
			name: "a number for a string", args: "validate -f -",
			stdin: shoot("mine", `{type: noop, providerConfig: {length: 7}}`), exit: 1,
			stdout: `
error: spec.networking.providerConfig.length: Invalid value: 7: must be a string, not a number; write it in quotes
shoot garden-dev/mine: invalid (noop, 1 error)
`,
		},
		{
			name: "a Network alone has the paths of a Network", args: "validate -f -",
			stdin: network("net", "shoot--dev--mine", "{colour: green}"), exit: 1,
			stdout: `
error: spec.providerConfig.colour: Unsupported value: "green": supported values: "red", "blue"
network shoot--dev--mine/net: invalid (noop, 1 error)
`,
		},
		{
			name: "an unknown network type lists the known ones", args: "validate -f -",
			stdin: shoot("mine", "{type: string-and-cups}"), exit: 1,
			stdout: `
error: spec.networking.type: Unsupported value: "string-and-cups": supported values: "noop"
shoot garden-dev/mine: invalid (string-and-cups, 1 error)
`,
		},
		{
			name: "a Shoot without workers has no network to validate", args: "validate -f -", exit: 1,
			stdin: `{apiVersion: core.gardener.cloud/v1beta1, kind: Shoot, metadata: {name: a}, spec: {provider: {type: x}}}`,
			stdout: `
error: spec.provider.workers: Required value: a Shoot without workers has no pod network; list the workers of one that is to have a network
`,
		},
		{
			name: "all wrong types at once, with indices", args: "validate -f -", exit: 1,
			stdin: strings.Replace(shoot("mine", "{type: no, pods: 10}"), "maximum: 3", "maximum: three", 1),
			stdout: `
error: spec.networking.pods: Invalid value: 10: must be a string, not a number; write it in quotes
error: spec.networking.type: Invalid value: false: must be a string, not true or false; write it in quotes
error: spec.provider.workers[0].maximum: Invalid value: "three": must be a whole number from -2147483648 to 2147483647, not a string
`,
		},
		{
			name: "an infrastructure that is no text", args: "validate -f -", exit: 1,
			stdin: network("one", "ns", "{}") + "  cloudProvider: {aws,infra,...}\n---\n" + network("two", "ns", "{}") + "  cloudProvider: 7\n---\n" +
				network("three", "ns", "{}") + "  cloudProvider: {dry,infra,...}\n---\n" + strings.Replace(shoot("mine", "{type: noop}"), "type: dry", "type: [Infra]", 1),
			stdout: `
error: document 1: spec.cloudProvider: Invalid value: {"...":null,"aws":null,"infra":null}: must be a string, not an object; known are dry, infra; did you mean infra?
error: document 2: spec.cloudProvider: Invalid value: 7: must be a string, not a number; write it in quotes; known are dry, infra
error: document 3: spec.cloudProvider: Invalid value: {"...":null,"dry":null,"infra":null}: must be a string, not an object; known are dry, infra
error: document 4: spec.provider.type: Invalid value: ["Infra"]: must be a string, not a list; known are dry, infra; did you mean infra?
`,
		},
		{
			name: "a Shoot may have fields that networking does not know", args: "validate -f -",
			stdin:  strings.Replace(shoot("mine", "{type: noop}"), "spec:", "spec:\n  addons: {dashboard: {enabled: true}}", 1),
			stdout: "shoot garden-dev/mine: valid (noop)\n",
		},
		{
			name: "but none that only capitals tell from one it knows", args: "validate -f -", exit: 1,
			stdin: shoot("mine", "{type: noop, providerconfig: {colour: red}}"),
			stdout: `
error: spec.networking.providerconfig: Invalid value: {"colour":"red"}: is not a field here; write providerConfig: names are case-sensitive
`,
		},
		{
			name: "a Network has no unknown fields", args: "validate -f -", exit: 1,
			stdin: strings.Replace(network("net", "ns", "{}"), "podCIDR", "podRange", 1),
			stdout: `
error: spec.podRange: Invalid value: "10.1.0.0/16": is not a field here; there are class, cloudProvider, clusterCIDR, ipFamilies, podCIDR, providerConfig, serviceCIDR, type
`,
		},
		{
			name: "the status of a Network is not its author's", args: "validate -f -",
			stdin:  network("net", "ns", "{}") + "status: {observedGeneration: ..., anything: goes}\n",
			stdout: "network ns/net: valid (noop)\n",
		},
		{
			name: "a namespace that there cannot be", args: "validate -f -", exit: 1,
			stdin:  shoot("mine", "{type: noop}") + "status: {technicalID: ../etc}\n",
			stdout: "~error: status.technicalID: Invalid value: \"../etc\": ../etc is no valid control-plane namespace: a lowercase RFC 1123 label",
		},
		{
			name: "a name that is too long for one", args: "validate -f -", exit: 1,
			stdin:  shoot(strings.Repeat("a", 60), "{type: noop}"),
			stdout: "~is no valid control-plane namespace\nmust be no more than 63 characters",
		},
		{
			name: "names are those that an API server takes", args: "validate -f -", exit: 1,
			stdin:  network("Not_A_Name", "ns", "{}"),
			stdout: "~error: metadata.name: Invalid value: \"Not_A_Name\": a lowercase RFC 1123 subdomain",
		},
	})
}

func TestValidateReadsSeveralDocumentsAndFiles(t *testing.T) {
	runAll(t, []script{
		{
			name: "documents are told apart by number", args: "validate -f -", exit: 1,
			stdin: shoot("one", "{type: noop}") + "---\n# nothing\n---\n" + shoot("two", "{type: other}"),
			stdout: `
shoot garden-dev/one: valid (noop)
error: document 2: spec.networking.type: Unsupported value: "other": supported values: "noop"
shoot garden-dev/two: invalid (other, 1 error)
`,
		},
		{
			name: "files by name", args: "validate -f a.yaml -f b.yaml", exit: 1,
			files: map[string]string{"a.yaml": shoot("one", "{type: noop}"), "b.yaml": shoot("two", "{type: other}")},
			stdout: `
shoot garden-dev/one: valid (noop)
error: b.yaml: spec.networking.type: Unsupported value: "other": supported values: "noop"
shoot garden-dev/two: invalid (other, 1 error)
`,
		},
		{
			name: "the items of a List, too", args: "validate -f -", exit: 1,
			stdin: `{"apiVersion":"v1","kind":"List","items":[{"apiVersion":"v1","kind":"Pod"}]}`,
			stdout: `
error: <stdin>: document 1: item 1: Pod of v1 is not supported; provide Networks and Clusters (extensions.gardener.cloud/v1alpha1), Shoots (core.gardener.cloud/v1beta1), NetworkConfigs, or a v1 List of them
`,
		},
		{
			name: "another kind is named with its document; the rest is still looked at", args: "validate -f -", exit: 1,
			stdin: shoot("one", "{type: noop}") + "---\napiVersion: apps/v1\nkind: Deployment\n",
			stdout: `~error: <stdin>: document 2: Deployment of apps/v1 is not supported
				shoot garden-dev/one: valid (noop)`,
		},
		{
			name: "JSON documents one after the other", args: "validate -f -",
			stdin: `{"apiVersion":"extensions.gardener.cloud/v1alpha1","kind":"Network","metadata":{"name":"a","namespace":"x"},
				"spec":{"type":"noop","podCIDR":"10.1.0.0/16","serviceCIDR":"10.2.0.0/16"}}
				{"apiVersion":"extensions.gardener.cloud/v1alpha1","kind":"Network","metadata":{"name":"b"},
				"spec":{"type":"noop","clusterCIDR":"10.1.0.0/16","serviceCIDR":"10.2.0.0/16"}}`,
			stdout: "network x/a: valid (noop)\nnetwork default/b: valid (noop)\n",
		},
	})
}

func TestUndecodableInputIsInvalidAndSaysWhy(t *testing.T) {
	runAll(t, []script{
		{
			name: "empty", args: "validate -f -", exit: 1, stdin: "---\n# only a comment\n",
			stdout: "error: <stdin>: has no document; provide a Network, a Shoot, or both\n",
		},
		{
			name: "not YAML, with the line in the file", args: "validate -f -", exit: 1,
			stdin:  shoot("one", "{type: noop}") + "---\na: [\n",
			stdout: "~error: <stdin>: document 2: cannot be read as YAML: line 9: did not find expected node content",
		},
		{
			name: "a duplicate field", args: "validate -f -", exit: 1,
			stdin:  "apiVersion: v1\nkind: List\nkind: List\n",
			stdout: "~document 1: cannot be read as YAML: line 3: key \"kind\" already set in map",
		},
		{
			name: "a duplicate field in JSON", args: "validate -f -", exit: 1,
			stdin:  `{"apiVersion":"v1","spec":{"a":1,"a":2}}`,
			stdout: "error: <stdin>: document 1: duplicate field \"spec.a\"\n",
		},
		{
			name: "more than one value", args: "validate -f -", exit: 1, stdin: `{"a": 1} b` + "\n",
			stdout: "~error: <stdin>: document 2: cannot be read as YAML: more follows after the end of a document; separate documents by a line with ---",
		},
		{
			name: "a number that JSON lacks, with its path", args: "validate -f -", exit: 1, stdin: "a: {b: [1, .nan], c: .inf}\n",
			stdout: "error: <stdin>: document 1: cannot be read as YAML at $.a.b.1: JSON has no infinite or undefined numbers\n",
		},
		{
			name: "a key that is none", args: "validate -f -", exit: 1, stdin: "a: {? ~ : 1}\n",
			stdout: "error: <stdin>: document 1: cannot be read as YAML at $.a: a key must be a string that occurs once\n",
		},
		{
			name: "two keys that are the same in JSON", args: "validate -f -", exit: 1, stdin: "{1: a, '1': b}\n",
			stdout: "error: <stdin>: document 1: cannot be read as YAML at $: a key must be a string that occurs once\n",
		},
		{
			name: "a scalar", args: "validate -f -", exit: 1, stdin: "hello\n",
			stdout: "error: <stdin>: document 1: is not an object: a manifest begins with apiVersion and kind\n",
		},
		{
			name: "binary", args: "validate -f -", exit: 1, stdin: "a: b\x00",
			stdout: "error: <stdin>: is not text in UTF-8: byte 5 is 0x00\n",
		},
		{
			name: "terminal control characters are shown, not obeyed", args: "validate -f -", exit: 1,
			stdin:  "apiVersion: \"\\e[31m\"\nkind: X\n",
			stdout: "~X of \\u001b[31m is not supported",
		},
		{
			name: "render says so, too, and prints no objects", args: "render -f -", exit: 1, stdin: "hello\n",
			stderr: "error: <stdin>: document 1: is not an object: a manifest begins with apiVersion and kind\n",
		},
	})
}

func TestNetworksFindTheirShoots(t *testing.T) {
	inTwoNamespaces := network("net", "shoot--dev--one", "{}") + "---\n" + network("net", "shoot--dev--two", "{}")
	runAll(t, []script{
		{
			name: "by the control-plane namespace", args: "validate -f -",
			stdin: inTwoNamespaces + "---\n" + shoot("two", "{type: noop}") + "---\n" + shoot("three", "{type: noop}"),
			stdout: `
network shoot--dev--one/net: valid (noop)
network shoot--dev--two/net: valid (noop)
shoot garden-dev/three: valid (noop)
`,
		},
		{
			name: "a single pair belongs together anyhow", args: "render -f -",
			stdin:  network("net", "elsewhere", "{}") + "---\n" + shoot("mine", "{type: noop}"),
			stdout: "~--kubernetes=1.36.3\n--pods=10.1.0.0/16",
		},
		{
			name: "a Cluster is as good as the Shoot in it", args: "render -f -",
			stdin: network("net", "shoot--dev--mine", "{}") + `---
apiVersion: extensions.gardener.cloud/v1alpha1
kind: Cluster
metadata: {name: shoot--dev--mine}
spec:
  cloudProfile: {}
  shoot: {spec: {kubernetes: {version: 1.35.1}, provider: {type: infra, workers: [{name: a}]}}, metadata: {name: mine}}
`,
			stdout: "~--kubernetes=1.35.1\n--colour=blue",
		},
		{
			name: "a Cluster without a Network is no network", args: "validate -f -", exit: 1,
			stdin: `{apiVersion: extensions.gardener.cloud/v1alpha1, kind: Cluster, metadata: {name: c},
				spec: {cloudProfile: {}, shoot: {metadata: {name: x}, spec: {provider: {type: dry}}}}}`,
			stdout: "~the Cluster c has no Network; add",
		},
		{
			name: "no guessing", args: "validate -f -", exit: 1,
			stdin:  strings.Replace(inTwoNamespaces, ", namespace: shoot--dev--one", "", 1) + "---\n" + shoot("one", "{type: noop}"),
			stdout: `~error: document 1: metadata.namespace: Required value: which Shoot belongs to the Network net? Their control-plane namespaces are shoot--dev--one`,
		},
		{
			name: "who counts where both say different things", args: "validate -f -",
			stdin: network("net", "shoot--dev--mine", "{}") + "  cloudProvider: infra\n---\n" +
				shoot("mine", "{type: other, pods: 10.7.0.0/16, services: 10.8.0.0/16, ipFamilies: [IPv4]}"),
			stdout: `
warning: document 1: spec.type: is noop, but the Shoot has other; the Network counts
warning: document 1: spec.podCIDR: is 10.1.0.0/16, but the Shoot has 10.7.0.0/16; the Network counts
warning: document 1: spec.serviceCIDR: is 10.2.0.0/16, but the Shoot has 10.8.0.0/16; the Network counts
warning: document 1: spec.cloudProvider: is infra, but the Shoot has dry; the Shoot counts
network shoot--dev--mine/net: valid (noop, 4 warnings)
`,
		},
		{
			name: "a Network of a Shoot that has none", args: "validate -f -",
			stdin: network("net", "shoot--dev--mine", "{}") + "---\n" +
				strings.Replace(shoot("mine", "{type: noop}"), "[{name: a, maximum: 3}]", "[]", 1),
			stdout: "~warning: document 1: shoot.spec.provider.workers: is empty, and a Shoot without workers has no pod network",
		},
		{
			name: "two Networks of one cluster", args: "validate -f -", exit: 1,
			stdin:  network("a", "ns", "{}") + "---\n" + network("b", "ns", "{}"),
			stdout: "~error: <stdin>: document 2: two Networks in namespace ns: the other one is in document 1",
		},
	})
}

func TestReportsStayReadable(t *testing.T) {
	g := NewWithT(t)
	fields := ""
	for i := range 1000 {
		fields += fmt.Sprintf("  field%d: 1\n", i)
	}
	exit, stdout, _ := call([]string{"validate", "-f", "-"}, network("net", "ns", "{}")+fields)
	g.Expect(exit).To(Equal(1))
	g.Expect(strings.Count(stdout, "\n")).To(Equal(51))
	g.Expect(stdout).To(HaveSuffix("error: and 950 more\n"))

	long := strings.Repeat("ü", 1<<20)
	exit, stdout, _ = call([]string{"validate", "-f", "-"}, shoot("mine", "{type: noop, pods: "+long+"}"))
	g.Expect(exit).To(Equal(1))
	g.Expect(len([]rune(stdout))).To(BeNumerically("<", 1000))
}
