// SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"strings"
	"testing"
)

func TestValidateAnswersUpdatesAsTheAdmissionDoes(t *testing.T) {
	old := map[string]string{"old.yaml": shoot("mine", `{type: noop, providerConfig: {colour: red}}`)}
	with := func(text string) map[string]string {
		return map[string]string{"old.yaml": old["old.yaml"], "new.yaml": text}
	}
	broken := shoot("mine", `{type: noop, providerConfig: {colour: green}}`)
	runAll(t, []script{
		{
			name: "nothing changes", args: "validate new.yaml --old old.yaml", files: with(old["old.yaml"]),
			stdout: "shoot garden-dev/mine: valid (noop)\n",
		},
		{
			name: "what a change does is a warning", args: "validate new.yaml --old old.yaml",
			files: with(shoot("mine", `{type: noop, providerConfig: {colour: red, length: "0"}}`)),
			stdout: `
warning: new.yaml: spec.networking.providerConfig.length: the change from absent to 0 is disruptive: traffic stops
warning: new.yaml: spec.networking.providerConfig.length: is deprecated and has no effect
shoot garden-dev/mine: valid (noop, 2 warnings)
`,
		},
		{
			name: "how packets travel", args: "validate new.yaml --old old.yaml",
			files: with(shoot("mine", `{type: noop, providerConfig: {colour: red, length: "5"}}`)),
			stdout: `
warning: new.yaml: spec.networking.providerConfig.length: the change from absent to 5 is rolling: the agents restart
warning: new.yaml: spec.networking.providerConfig.length: is deprecated and has no effect
shoot garden-dev/mine: valid (noop, 2 warnings)
packets: on foot; routes by hand
`,
		},
		{
			name: "a forbidden change is an error", args: "validate -f new.yaml --old old.yaml", exit: 1,
			files: with(shoot("mine", `{type: noop, providerConfig: {colour: blue}}`)),
			stdout: `
error: new.yaml: spec.networking.providerConfig.colour: Forbidden: cannot change from red to blue in a running network: pods keep the former colour
shoot garden-dev/mine: invalid (noop, 1 error)
`,
		},
		{
			name: "what was wrong before is a warning", args: "validate - --old old.yaml",
			files: map[string]string{"old.yaml": broken}, stdin: strings.Replace(broken, "1.36.3", "1.36.4", 1),
			stdout: `
warning: <stdin>: spec.networking.providerConfig.colour: was so before, and would be refused in a new network: Unsupported value: "green": supported values: "red", "blue"
shoot garden-dev/mine: valid (noop, 1 warning)
`,
		},
		{
			name: "what an API server keeps comes from the old Shoot", args: "validate new.yaml --old old.yaml",
			files: map[string]string{
				"old.yaml": shoot("mine", `{type: noop, pods: 10.1.0.0/24, services: 10.2.0.0/16}`),
				"new.yaml": strings.Replace(shoot("mine", `{type: noop}`), "maximum: 3", "maximum: 2", 1),
			},
			stdout: `
warning: new.yaml: spec.networking.pods: was so before, and would be refused in a new network: Invalid value: "10.1.0.0/24": has room for 1 node, of which each gets a /24, and the workers can grow to 2; state a larger range such as a /23 or, where it cannot change, let the workers grow to 1 at most
shoot garden-dev/mine: valid (noop, 1 warning)
`,
		},
		{
			name: "the length of the nodes' ranges", args: "validate new.yaml --old old.yaml", exit: 1,
			files: with(strings.Replace(old["old.yaml"], "version: 1.36.3", "version: 1.36.3, kubeControllerManager: {nodeCIDRMaskSize: 26}", 1)),
			stdout: `
error: new.yaml: spec.kubernetes.kubeControllerManager.nodeCIDRMaskSize: Forbidden: cannot change from 24 to 26 in a running network: the nodes have ranges of this length; write 24 again, or create a new cluster
shoot garden-dev/mine: invalid (noop, 1 error)
`,
		},
		{
			name: "the length of the nodes' ranges, which Gardener chose", args: "validate new.yaml --old old.yaml",
			files: map[string]string{
				"old.yaml": strings.Replace(old["old.yaml"], "version: 1.36.3", "version: 1.36.3, kubeControllerManager: {nodeCIDRMaskSize: 26}", 1),
				"new.yaml": strings.Replace(old["old.yaml"], "1.36.3", "1.36.4", 1),
			},
			stdout: "shoot garden-dev/mine: valid (noop)\n",
		},
		{
			name: "a Shoot that is being deleted", args: "validate new.yaml --old old.yaml",
			files:  map[string]string{"old.yaml": strings.Replace(old["old.yaml"], "name: mine", "name: mine, deletionTimestamp: 2026-01-01T00:00:00Z", 1), "new.yaml": broken},
			stdout: "shoot garden-dev/mine: valid (noop)\n",
		},
		{
			name: "flags of another input", args: "validate new.yaml --old old.yaml --provider aws", files: with(broken), exit: 2,
			stderr: "~--provider describes the cluster of a bare NetworkConfig",
		},
		{
			name: "another Shoot", args: "validate new.yaml --old old.yaml", files: with(shoot("other", `{type: noop}`)), exit: 1,
			stdout: "error: new.yaml: the input of --old has no shoot garden-dev/other; leave --old out for a Shoot that is created\n",
		},
		{
			name: "a Network", args: "validate new.yaml --old old.yaml", files: with(network("net", "shoot--dev--mine", "{}")), exit: 1,
			stdout: "error: new.yaml: is no Shoot, and --old compares Shoots; trellis plan compares Networks\n",
		},
		{name: "no new Shoot", args: "validate --old old.yaml", files: old, exit: 2, stderr: "~Error: no input: pass -f FILE"},
		{name: "standard input twice", args: "validate - --old -", exit: 2, stderr: "~standard input can be read only once"},
	})
}
