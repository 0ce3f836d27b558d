// SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"encoding/json"
	"os"
	"testing"

	. "github.com/onsi/gomega"
)

const wholeYAML = `
apiVersion: v1
kind: ServiceAccount
metadata:
  name: system:noop
  namespace: kube-system
---
apiVersion: apps/v1
kind: DaemonSet
metadata:
  name: noop
  namespace: kube-system
spec:
  selector:
    matchLabels:
      app: noop
  template:
    metadata:
      labels:
        app: noop
    spec:
      containers:
      - args:
        - --colour=red
        - --pods=100.96.0.0/11
        - --kubernetes=1.36.3
        - --fast=false
        - --safe=true
        image: registry.example.com/noop:v1
        name: noop
        resources: {}
      serviceAccountName: system:noop
  updateStrategy: {}
`

func TestRenderPrintsObjectsAndNothingElse(t *testing.T) {
	monitored := shoot("mine", `{type: noop, providerConfig: {monitored: true, length: "1"}}`)
	runAll(t, []script{
		{
			name: "a YAML stream", args: "render --no-connectivity-probe -f -", stdin: shoot("mine", "{type: noop}"),
			stdout: wholeYAML,
		},
		{
			name: "the connectivity probe is part of every network", args: "render -f -", stdin: shoot("mine", "{type: noop}"),
			stdout: `~name: nodeconnectivities.connectivity.trellis.network
				name: trellis-probe
				kind: ValidatingAdmissionPolicy`,
		},
		{
			name: "the seed's objects; warnings go to stderr", args: "render --target seed -f -", stdin: monitored,
			stdout: `
apiVersion: v1
data:
  title: Noop
kind: ConfigMap
metadata:
  name: noop-dashboard
  namespace: shoot--dev--mine
`,
			stderr: "warning: spec.networking.providerConfig.length: is deprecated and has no effect\n",
		},
		{
			name: "no objects for the seed is not silent", args: "render --target seed -f -", stdin: shoot("mine", "{type: noop}"),
			stderr: "shoot garden-dev/mine: the network has no objects in the seed\n",
		},
		{
			name: "an empty List is a List", args: "render --target seed -o json -f -", stdin: shoot("mine", "{type: noop}"),
			stdout: `
{
    "apiVersion": "v1",
    "items": [],
    "kind": "List"
}
`,
			stderr: "~no objects",
		},
		{
			name: "what is invalid has no objects", args: "render -f -", exit: 1,
			stdin: shoot("mine", "{type: noop, providerConfig: {colour: green}}"),
			stderr: `
error: spec.networking.providerConfig.colour: Unsupported value: "green": supported values: "red", "blue"
shoot garden-dev/mine: invalid (noop, 1 error)
`,
		},
		{
			name: "what changes in a running network goes to stderr", args: "render -f - --target seed",
			stdin: network("net", "ns", `{length: "9"}`) + appliedRed,
			stderr: `
warning: spec.providerConfig.length: is deprecated and has no effect
change: length: rolling, from absent to "9": the agents restart
network ns/net: the network has no objects in the seed
`,
		},
		{
			name: "one network at a time", args: "render -f -", exit: 1,
			stdin:  shoot("one", "{type: noop}") + "---\n" + shoot("two", "{type: noop}"),
			stderr: "error: the input has 2 networks (shoot garden-dev/one, shoot garden-dev/two); this command takes one\n",
		},
		{
			name: "feature gates are facts", args: "render --feature-gates SafeNoop=false,FastNoop=true -f -",
			stdin: shoot("mine", "{type: noop}"), stdout: "~--fast=true\n--safe=false",
		},
		{
			name: "a Network's cloudProvider tells the infrastructure where no Shoot does", args: "render -f -",
			stdin: network("net", "ns", "{}") + "  cloudProvider: infra\n", stdout: "~--colour=blue",
		},
		{
			name: "in standalone mode pods carry what they need", args: "render --mode standalone --api-server https://[2001:db8::1]:6443/ -f -",
			stdin: shoot("mine", "{type: noop}"),
			stdout: `~KUBERNETES_SERVICE_HOST
				value: 2001:db8::1
				value: "6443"
				serviceAccountToken:`,
		},
		{
			name: "with an address that resolves nowhere unless one is given", args: "render --mode standalone -f -",
			stdin: shoot("mine", "{type: noop}"), stdout: "~value: api-server.invalid\nvalue: \"443\"",
		},
	})
}

func TestRenderWritesAFileForEachObject(t *testing.T) {
	g := NewWithT(t)
	t.Chdir(t.TempDir())
	g.Expect(os.MkdirAll("out/old", 0o755)).To(Succeed())

	exit, stdout, stderr := call([]string{"render", "-f", "-", "-o", "dir=out"}, shoot("mine", "{type: noop}"))
	g.Expect(exit).To(Equal(0))
	g.Expect(stdout).To(BeEmpty())
	g.Expect(stderr).To(Equal("warning: directory out has 1 file that render did not write: old\n"))
	g.Expect(os.ReadFile("out/serviceaccount_kube-system_system%3Anoop.yaml")).To(ContainSubstring("name: system:noop\n"))
	g.Expect(os.ReadFile("out/daemonset.apps_kube-system_noop.yaml")).To(ContainSubstring("kind: DaemonSet\n"))
}

func TestADumpedRequestReplays(t *testing.T) {
	g := NewWithT(t)
	t.Chdir(t.TempDir())
	flags := []string{"--mode=standalone", "--feature-gates=FastNoop=true", "-f", "-"}
	input := shoot("mine", `{type: noop, providerConfig: {colour: blue}}`)

	exit, dumped, _ := call(append([]string{"request"}, flags...), input)
	g.Expect(exit).To(Equal(0))
	g.Expect(json.Valid([]byte(dumped))).To(BeTrue())
	g.Expect(os.WriteFile("request.json", []byte(dumped), 0o644)).To(Succeed())

	_, direct, _ := call(append([]string{"render"}, flags...), input)
	exit, replayed, stderr := call([]string{"render", "--request", "request.json"}, "")
	g.Expect(exit).To(Equal(0), stderr)
	g.Expect(replayed).To(Equal(direct))

	exit, stdout, _ := call([]string{"validate", "--request", "-"}, dumped)
	g.Expect(exit).To(Equal(0))
	g.Expect(stdout).To(Equal("network shoot--dev--mine/mine: valid (noop)\n"))
}

// Another version of Trellis may give another result for the same Request.
func TestARequestOfAnotherVersionIsNamed(t *testing.T) {
	g := NewWithT(t)
	_, dumped, _ := call([]string{"request", "-f", "-"}, shoot("mine", "{type: noop}"))
	var file map[string]any
	g.Expect(json.Unmarshal([]byte(dumped), &file)).To(Succeed())
	this, isText := file["trellisVersion"].(string)
	g.Expect(isText).To(BeTrue())

	for name, test := range map[string]struct {
		version any
		want    string
	}{
		"this one":        {this, ""},
		"another one":     {"v0.0.1", "warning: trellisVersion: comes from Trellis v0.0.1, and this is " + this + ": use that version for the result that it gave\n"},
		"an unknown one":  {"", "warning: trellisVersion: comes from Trellis of an unknown version, and this is " + this + ": use that version for the result that it gave\n"},
		"one of a liar's": {"v1\nerror: no", `warning: trellisVersion: comes from Trellis v1 error: no, and this is ` + this},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			file["trellisVersion"] = test.version
			changed, err := json.Marshal(file)
			g.Expect(err).NotTo(HaveOccurred())
			exit, stdout, stderr := call([]string{"render", "--request", "-"}, string(changed))
			g.Expect(exit).To(Equal(0))
			g.Expect(stdout).NotTo(BeEmpty())
			g.Expect(stderr).To(HavePrefix(test.want))
			g.Expect(stderr == "").To(Equal(test.want == ""))
		})
	}
}

func TestRequestsAreOnlyTakenWhole(t *testing.T) {
	runAll(t, []script{
		{
			name: "a refused network can be dumped", args: "request -f -", stdin: shoot("mine", "{type: other}"),
			stdout: `~"type": "other"`,
		},
		{
			name: "not JSON", args: "render --request -", exit: 1, stdin: "hello",
			stderr: "~error: <stdin>: is not a Request of this version of Trellis: invalid character",
		},
		{
			name: "fields of another version", args: "render --request -", exit: 1, stdin: `{"colour": 1}`,
			stderr: "~error: <stdin>: is not a Request of this version of Trellis: unknown field \"colour\"; it comes from Trellis of an unknown version, and this is ",
		},
		{
			name: "of another version", args: "render --request -", exit: 1, stdin: `{"trellisVersion": "v0.0.1", "colour": 1}`,
			stderr: "~unknown field \"colour\"; it comes from Trellis v0.0.1, and this is ",
		},
		{
			name: "half of one", args: "render --request -", exit: 1, stdin: `{"author": "Shoot"}`,
			stderr: "error: <stdin>: has no name or no namespace\n",
		},
		{
			name: "names of nothing", args: "validate --request -", exit: 1,
			stdin:  `{"author": "Shoot", "name": "a", "namespace": "b/c", "facts": {"ipFamilies": ["IPv4"]}}`,
			stdout: "~error: <stdin>: namespace is \"b/c\": a lowercase RFC 1123 label",
		},
		{
			name: "families that there are not", args: "render --request -", exit: 1,
			stdin:  `{"author": "Shoot", "name": "a", "namespace": "b", "facts": {"ipFamilies": ["IPv4", "IPv9"]}}`,
			stderr: "error: <stdin>: facts.ipFamilies[1] is \"IPv9\"; it must be IPv4 or IPv6, each at most once\n",
		},
		{
			name: "a past that is no config", args: "render --request -", exit: 1,
			stdin:  `{"author": "Shoot", "name": "a", "namespace": "b", "facts": {"ipFamilies": ["IPv4"]}, "applied": {"config": null}}`,
			stderr: "error: <stdin>: applied.config must be an object\n",
		},
		{
			name: "what changes is told of a Request, too", args: "validate --request -",
			stdin: `{"author": "Shoot", "name": "a", "namespace": "b", "facts": {"ipFamilies": ["IPv4"]},
				"spec": {"type": "noop", "podCIDR": "10.1.0.0/16", "serviceCIDR": "10.2.0.0/16", "providerConfig": {"monitored": true}},
				"applied": {"config": {"colour": "red"}}}`,
			stdout: "~network b/a: valid (noop, 1 warning, 1 change)\nchange: monitored: safe, from absent to true: only adds a dashboard\n",
		},
	})
}
