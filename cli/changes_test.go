// SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/trellis-network/trellis/cli"
	"github.com/trellis-network/trellis/internal/request"
	"github.com/trellis-network/trellis/pipeline"
	"github.com/trellis-network/trellis/plugins"
	"github.com/trellis-network/trellis/providers"
)

// appliedRed is the status of a Network that was applied with a red noop.
const appliedRed = "status: {state: {applied: {config: {apiVersion: noop.example.com/v1, kind: NetworkConfig, colour: red}}}}\n"

func TestChangesOfARunningNetworkAreTold(t *testing.T) {
	runAll(t, []script{
		{
			name: "what a running network would not survive is an error", args: "validate -f -", exit: 1,
			stdin: network("net", "ns", "{colour: blue}") + appliedRed,
			stdout: `
error: spec.providerConfig.colour: Forbidden: cannot change from red to blue in a running network: pods keep the former colour
network ns/net: invalid (noop, 1 error)
`,
		},
		{
			name: "what changes in a running network is told with its class and reason", args: "validate -f -",
			stdin:  network("net", "ns", "{monitored: true, colour: red}") + appliedRed,
			stdout: "\nnetwork ns/net: valid (noop, 1 change)\nchange: monitored: safe, from absent to true: only adds a dashboard\n",
		},
		{
			name: "disruptive changes first", args: "validate -f -",
			stdin: network("net", "ns", `{monitored: true, length: "9"}`) + appliedRed,
			stdout: `
warning: spec.providerConfig.length: is deprecated and has no effect
network ns/net: valid (noop, 1 warning, 2 changes)
change: length: rolling, from absent to "9": the agents restart
change: monitored: safe, from absent to true: only adds a dashboard
`,
		},
		{
			name: "also beside one that is forbidden", args: "validate -f -", exit: 1,
			stdin: network("net", "ns", "{monitored: true, colour: blue}") + appliedRed,
			stdout: `
error: spec.providerConfig.colour: Forbidden: cannot change from red to blue in a running network: pods keep the former colour
network ns/net: invalid (noop, 1 error, 1 change)
change: monitored: safe, from absent to true: only adds a dashboard
`,
		},
		{
			name: "nothing is said where nothing changes", args: "validate -f -",
			stdin: network("net", "ns", "{}") + appliedRed, stdout: "network ns/net: valid (noop)\n",
		},
		{
			name: "a long value is cut", args: "validate -f -",
			stdin:  network("net", "ns", `{length: "`+strings.Repeat("9", 1000)+`"}`) + appliedRed,
			stdout: "~change: length: rolling, from absent to " + strings.Repeat("9", 64) + "…: the agents restart",
		},
		{
			name: "a state that Trellis did not write is ignored", args: "validate -f -",
			stdin: network("net", "ns", "{}") + "status: {state: [7]}\n",
			stdout: `
warning: status.state: is ignored, since Trellis did not write it
network ns/net: valid (noop, 1 warning)
`,
		},
		{
			name: "nor what is no config", args: "validate -f -",
			stdin:  network("net", "ns", "{}") + "status: {state: {applied: {config: colourful}}}\n",
			stdout: "~warning: status.state: is ignored",
		},
		{
			name: "nor a value of another type, where the user wrote none", args: "validate -f -",
			stdin:  network("net", "ns", "{colour: red}") + "status: {state: {applied: {config: {length: 7, colour: red}}}}\n",
			stdout: "~warning: status.state: what was applied last cannot be compared: ",
		},
	})
}

// running is a Request for a Shoot with Calico in which before was applied, and
// after is asked for.
func running(t *testing.T, before, after string) string {
	t.Helper()
	g := NewWithT(t)
	p, err := pipeline.New(plugins.All(), providers.All())
	g.Expect(err).NotTo(HaveOccurred())
	var then, now pipeline.Request
	for config, request := range map[string]*pipeline.Request{before: &then, after: &now} {
		shoot := strings.Replace(calicoShoot(config, "", ""), "namespace: garden-dev", "namespace: garden-dev, uid: '7'", 1)
		dumped, _ := program(t, shoot, "request", "-f", "-")
		g.Expect(json.Unmarshal([]byte(dumped), request)).To(Succeed())
	}
	result := p.Build(then)
	g.Expect(result.Errors).To(BeEmpty())
	now.Applied, now.Runs = result.Applied(), false
	text, err := request.Encode(&now)
	g.Expect(err).NotTo(HaveOccurred())
	return string(text)
}

func TestUsersAreToldWhatAChangeMeans(t *testing.T) {
	for name, test := range map[string]struct {
		before, after string
		exit          int
		says, not     []string
	}{
		"disruptive": {"{overlay: {enabled: true}}", "{overlay: {enabled: false}}", cli.ExitOK, []string{
			": valid (calico", "changes)", "change: overlay.enabled: disruptive, from true to false: packets between nodes travel in another way",
			"change: backend: ", ", from bird to none: ",
		}, []string{"vethMTU"}},
		"rolling": {"{}", `{vethMTU: "1440"}`, cli.ExitOK, []string{
			": valid (calico, 1 change)", `change: vethMTU: rolling, from "0" to "1440": `,
		}, []string{"disruptive"}},
		"forbidden, with the rest that would change": {"{}", `{vethMTU: "1440", ipam: {type: calico-ipam}}`, cli.ExitInvalid, []string{
			"error: " + at + ".ipam.type: Forbidden: cannot change from host-local to calico-ipam in a running network: ",
			": invalid (calico, 1 error, 1 change)", "change: vethMTU: rolling",
		}, []string{"change: ipam.type"}},
		"none": {"{typha: {enabled: false}}", "{typha: {}}", cli.ExitOK, []string{": valid (calico)\n"}, []string{"change"}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			var stdout, stderr bytes.Buffer
			exit := cli.Run([]string{"validate", "--request", "-"}, cli.Streams{
				In: strings.NewReader(strings.ReplaceAll(running(t, test.before, test.after), `"author":"Network"`, `"author":"Shoot"`)), Out: &stdout, Err: &stderr,
			}, plugins.All(), providers.All())
			g.Expect(exit).To(Equal(test.exit))
			g.Expect(stderr.String()).To(BeEmpty())
			for _, part := range test.says {
				g.Expect(stdout.String()).To(ContainSubstring(part))
			}
			for _, part := range test.not {
				g.Expect(strings.ReplaceAll(stdout.String(), "cannot change", "")).NotTo(ContainSubstring(part))
			}
		})
	}
}
