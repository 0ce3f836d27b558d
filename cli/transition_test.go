// SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"os"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/trellis-network/trellis/cli"
	"github.com/trellis-network/trellis/plugins"
	"github.com/trellis-network/trellis/providers"
)

// Users are told the steps in which a change is made, and what each waits for, unless they want it at once.
func TestStepsOfAChangeAreTold(t *testing.T) {
	t.Chdir(t.TempDir())
	flannel := func(config string) string {
		return strings.Replace(calicoShoot(config, "", ""), "type: calico", "type: flannel", 1)
	}
	const metadata = "{name: mine, namespace: garden-dev}"
	atOnce := func(shoot string) string {
		return strings.Replace(shoot, metadata, "{name: mine, namespace: garden-dev, annotations: {trellis.network/transition: at-once}}", 1)
	}
	before, after := flannel("{}"), flannel("{backend: {type: host-gw}}")
	const first, second = "step: 1. VXLAN between subnets: begins once the agents of all nodes run what was written last\n",
		"step: 2. no encapsulation: begins once the agents of all nodes run the step before, and pods talk\n"
	for _, test := range []struct {
		name, args, new string
		exit            int
		says, not       []string
	}{
		{"plan", "plan old.yaml new.yaml", after, cli.ExitChanges, []string{first + second, "changes (rolling; in 2 steps, none of which is disruptive)"}, nil},
		{"plan as JSON", "plan old.yaml new.yaml -o json", after, cli.ExitChanges, []string{`"to": "no encapsulation"`, `"name": "VXLAN between subnets"`}, nil},
		{"plan at once", "plan old.yaml new.yaml", atOnce(after), cli.ExitChanges, []string{"changes (rolling)"}, []string{"step"}},
		{"plan of one step", "plan old.yaml new.yaml", flannel("{backend: {directRouting: true}}"), cli.ExitChanges, []string{"1 change (rolling)"}, []string{"step: "}},
		{"validate", "validate --old old.yaml new.yaml", after, cli.ExitOK,
			[]string{"; the change is made in 2 steps, each of which begins once pods talk with the one before: (1) VXLAN between subnets, (2) no encapsulation\n"}, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			for file, text := range fromTo(before, test.new) {
				g.Expect(os.WriteFile(file, []byte(text), 0o600)).To(Succeed())
			}
			var out strings.Builder
			exit := cli.Run(strings.Fields(test.args), cli.Streams{In: strings.NewReader(""), Out: &out, Err: &out}, plugins.All(), providers.All())
			g.Expect(exit).To(Equal(test.exit), out.String())
			for _, part := range test.says {
				g.Expect(out.String()).To(ContainSubstring(part))
			}
			for _, part := range test.not {
				g.Expect(out.String()).NotTo(ContainSubstring(part))
			}
		})
	}
}
