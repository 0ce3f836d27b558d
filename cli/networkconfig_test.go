// SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"
)

const bareConfig = "apiVersion: noop.example.com/v1\nkind: NetworkConfig\n"

func TestABareNetworkConfigIsANetworkOfTheClusterThatFlagsDescribe(t *testing.T) {
	runAll(t, []script{
		{
			name: "without flags", args: "validate -f -", stdin: bareConfig,
			stdout: "\nnetworkconfig noop: valid (noop)\n",
		},
		{
			name: "paths begin with providerConfig", args: "validate -f -", stdin: bareConfig + "colour: green\n", exit: 1,
			stdout: `
error: providerConfig.colour: Unsupported value: "green": supported values: "red", "blue"
networkconfig noop: invalid (noop, 1 error)
`,
		},
		{
			name: "such a path can be explained", args: "explain noop.providerConfig.colour",
			stdout: "~FIELD:    noop.colour <string>",
		},
		{
			name: "the infrastructure", args: "render --provider infra -f -", stdin: bareConfig,
			stdout: "~--colour=blue\n--pods=100.96.0.0/11",
		},
		{
			name: "ranges and version", args: "render --pods 10.7.0.0/16 --services 10.8.0.0/16 --kubernetes-version 1.36.3 -f -", stdin: bareConfig,
			stdout: "~--pods=10.7.0.0/16\n--kubernetes=1.36.3",
		},
		{
			name: "an infrastructure that is unknown", args: "validate --provider Infra -f -", stdin: bareConfig,
			stdout: "~warning: --provider: Infra is an infrastructure that Trellis does not know\ndid you mean infra?",
		},
		{
			name: "IP families", args: "validate --ip-families IPv4,IPv6 -f -", stdin: bareConfig, exit: 1,
			stdout: "~error: --ip-families: Invalid value: [\"IPv4\",\"IPv6\"]: the noop plugin serves [IPv4]",
		},
		{
			name: "what a flag must add", args: "validate --pods 10.0.0.0/24 --max-nodes 9 -f -", stdin: bareConfig, exit: 1,
			stdout: "~error: --pods: Invalid value: \"10.0.0.0/24\": has room for 1 node",
		},
		{
			name: "neither true nor false", args: "validate --kube-proxy=maybe -f -", stdin: bareConfig, exit: 2,
			stderr: "~Error: invalid argument \"maybe\" for \"--kube-proxy\" flag: must be true or false\n",
		},
		{
			name: "kube-proxy", args: "request --kube-proxy=false -f -", stdin: bareConfig,
			stdout: "~\"author\": \"NetworkConfig\"\n\"enabled\": false",
		},
		{
			name: "what is no version", args: "validate --kubernetes-version banana -f -", stdin: bareConfig, exit: 2,
			stderr: `~Error: invalid argument "banana" for "--kubernetes-version" flag: must be a version such as 1.36.3`,
		},
		{
			name: "fewer nodes than none", args: "validate --max-nodes -5 -f -", stdin: bareConfig, exit: 2,
			stderr: `~Error: invalid argument "-5" for "--max-nodes" flag: must be a whole number from 0 to 2147483647`,
		},
		{
			name: "a version with a letter, and nodes", args: "request --kubernetes-version v1.36.3 --max-nodes 5 -f -", stdin: bareConfig,
			stdout: "~\"kubernetesVersion\": \"1.36.3\"\n\"nodesAtMost\": 5",
		},
		{
			name: "beside other networks", args: "validate --provider infra -f -", stdin: bareConfig + "---\n" + shoot("mine", "{type: noop}"),
			stdout: "\nshoot garden-dev/mine: valid (noop)\nnetworkconfig noop: valid (noop)\n",
		},
		{
			name: "of no known type", args: "validate -f -", stdin: "kind: NetworkConfig\napiVersion: nope.example.com/v1\n", exit: 1,
			stdout: "\nerror: apiVersion: Unsupported value: \"nope.example.com/v1\": supported values: \"noop.example.com/v1\"; did you mean noop.example.com/v1?\n",
		},
		{
			name: "a Shoot says itself what its cluster is", args: "validate --provider infra -f -", stdin: shoot("mine", "{type: noop}"), exit: 2,
			stderr: "~Error: --provider describes the cluster of a bare NetworkConfig; the cluster of a Shoot or Network is in the manifests",
		},
	})
}

func TestOneLineTellsHowPacketsTravel(t *testing.T) {
	runAll(t, []script{
		{
			name: "in a valid network", args: "validate -f -", stdin: bareConfig + "length: \"5\"\n",
			stdout: `
warning: providerConfig.length: is deprecated and has no effect
networkconfig noop: valid (noop, 1 warning)
packets: on foot; routes by hand
`,
		},
		{
			name: "not in an invalid one", args: "validate -f -", stdin: bareConfig + "length: \"5\"\ncolour: green\n", exit: 1,
			stdout: "~networkconfig noop: invalid",
		},
	})
}

func TestPlanComparesBareNetworkConfigs(t *testing.T) {
	dir := t.TempDir()
	write := func(name, content string) string {
		path := filepath.Join(dir, name)
		NewWithT(t).Expect(os.WriteFile(path, []byte(content), 0o600)).To(Succeed())
		return path
	}
	old, next := write("old.yaml", bareConfig), write("next.yaml", bareConfig+"monitored: true\n")
	whole := write("shoot.yaml", shoot("mine", "{type: noop}"))
	g := NewWithT(t)
	for _, from := range []string{old, whole} {
		exit, shown, problems := call([]string{"plan", from, next}, "")
		g.Expect(exit).To(Equal(2), shown+problems)
		g.Expect(shown).To(And(ContainSubstring("monitored"), Not(ContainSubstring("warning: metadata"))))
	}
}
