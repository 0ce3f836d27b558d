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

// A network that relies on routes which nothing makes is refused. Where the input tells that it runs,
// that is too late, and its user must be able to see what a change does.
func TestWhatRunsWithoutRoutesIsWarnedOf(t *testing.T) {
	t.Chdir(t.TempDir())
	const (
		planned   = "{name: mine, namespace: garden-dev}"
		made      = "{name: mine, namespace: garden-dev, uid: '7'}"
		succeeded = "  lastOperation: {type: Reconcile, state: Succeeded, lastUpdateTime: 2026-01-01T00:00:00Z}\n"
		without   = "{overlay: {enabled: false}}"
		noRoutes  = "pods on different nodes would not reach each other"
	)
	onLocal := func(metadata, config string) string {
		return strings.NewReplacer("type: aws", "type: local", planned, metadata).Replace(calicoShoot(config, "", ""))
	}
	aNetwork := strings.Replace(network("mine", "shoot--dev--mine", without), "type: noop", "type: calico", 1) + "  cloudProvider: local\n"
	for _, test := range []struct {
		name, args string
		files      map[string]string
		exit       int
		says       []string
	}{
		{"a Shoot that is planned", "validate new.yaml", fromTo("", onLocal(planned, without)), cli.ExitInvalid, []string{"error: " + at + ".overlay.enabled: Forbidden: " + noRoutes}},
		{"one that is there", "validate new.yaml", fromTo("", onLocal(made, without)), cli.ExitOK, []string{"warning: " + at + ".overlay.enabled: Forbidden: " + noRoutes, "valid (calico, 2 warnings)"}},
		{"its objects", "render -f new.yaml", fromTo("", onLocal(made, without)), cli.ExitOK, []string{noRoutes, "kind: DaemonSet"}},
		{"its mending", "plan old.yaml new.yaml", fromTo(onLocal(made, without), onLocal(made, "{overlay: {enabled: true}}")), cli.ExitDisruptive, []string{"change: overlay.enabled: "}},
		{"another change of it", "plan old.yaml new.yaml", fromTo(onLocal(made, without), onLocal(made, "{overlay: {enabled: false}, typha: {enabled: false}}")), cli.ExitChanges, []string{noRoutes, "change: typha.enabled: "}},
		{"its mending, by the manifests", "plan old.yaml new.yaml", fromTo(onLocal(planned, without), onLocal(planned, "{overlay: {enabled: true}}")), cli.ExitDisruptive, []string{"change: overlay.enabled: "}},
		{"the mending of something else", "plan old.yaml new.yaml", fromTo(onLocal(made, "{unknown: 1}"), onLocal(made, "{}")), cli.ExitOK, []string{"no changes"}},
		{"the routes go", "plan old.yaml new.yaml", fromTo(onLocal(made, "{overlay: {enabled: true}}"), onLocal(made, without)), cli.ExitInvalid, []string{"error: new.yaml: " + at + ".overlay.enabled: Forbidden: " + noRoutes}},
		{"a Network", "validate new.yaml", fromTo("", aNetwork), cli.ExitInvalid, []string{noRoutes}},
		{"a new Network of a Shoot that is there", "validate new.yaml", fromTo("", aNetwork+"---\n"+onLocal(made, without)), cli.ExitInvalid, []string{noRoutes}},
		{"a Network that an operator has applied", "validate new.yaml", fromTo("", aNetwork+"status:\n"+succeeded), cli.ExitOK, []string{"warning: spec.providerConfig.overlay.enabled: Forbidden: " + noRoutes}},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			for file, text := range test.files {
				g.Expect(os.WriteFile(file, []byte(text), 0o600)).To(Succeed())
			}
			var out strings.Builder
			exit := cli.Run(strings.Fields(test.args), cli.Streams{In: strings.NewReader(""), Out: &out, Err: &out}, plugins.All(), providers.All())
			g.Expect(exit).To(Equal(test.exit), out.String())
			for _, part := range test.says {
				g.Expect(out.String()).To(ContainSubstring(part))
			}
		})
	}
}
