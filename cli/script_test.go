// SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/trellis-network/trellis/cli"
	"github.com/trellis-network/trellis/plugin"
)

// script is one call of the command line and what comes of it.
type script struct {
	name  string
	args  string            // split at spaces
	files map[string]string // written before, into the directory that the call runs in
	stdin string
	exit  int
	// stdout and stderr are the whole text. With a leading "~", each line of them
	// is a part that the text must contain.
	stdout, stderr string
}

func (s script) run(t *testing.T) {
	t.Helper()
	g := NewWithT(t)
	t.Chdir(t.TempDir())
	for name, text := range s.files {
		g.Expect(os.MkdirAll(filepath.Dir(name), 0o755)).To(Succeed())
		g.Expect(os.WriteFile(name, []byte(text), 0o644)).To(Succeed())
	}
	exit, stdout, stderr := call(strings.Fields(s.args), s.stdin)
	expectText(g, "stdout", stdout, s.stdout)
	expectText(g, "stderr", stderr, s.stderr)
	g.Expect(exit).To(Equal(s.exit), "exit status")
}

func call(args []string, stdin string) (exit int, stdout, stderr string) {
	var out, err bytes.Buffer
	exit = cli.Run(args, cli.Streams{In: strings.NewReader(stdin), Out: &out, Err: &err},
		[]plugin.Plugin{plugin.New(noop{})}, []plugin.Provider{infra{}, dry{}})
	return exit, out.String(), err.String()
}

func expectText(g *WithT, which, got, want string) {
	parts, isParts := strings.CutPrefix(want, "~")
	if !isParts {
		g.Expect(got).To(Equal(strings.TrimPrefix(want, "\n")), which)
		return
	}
	for part := range strings.Lines(strings.TrimSpace(parts)) {
		g.Expect(got).To(ContainSubstring(strings.TrimSpace(part)), which)
	}
}

func runAll(t *testing.T, scripts []script) {
	for _, s := range scripts {
		t.Run(s.name, s.run)
	}
}

// shoot is a Shoot in garden-dev with this name and networking section, a YAML
// flow mapping.
func shoot(name, networking string) string {
	return `apiVersion: core.gardener.cloud/v1beta1
kind: Shoot
metadata: {name: ` + name + `, namespace: garden-dev}
spec:
  provider: {type: dry, workers: [{name: a, maximum: 3}]}
  kubernetes: {version: 1.36.3}
  networking: ` + networking + "\n"
}

// network is a Network with this name, namespace and providerConfig.
func network(name, namespace, config string) string {
	return `apiVersion: extensions.gardener.cloud/v1alpha1
kind: Network
metadata: {name: ` + name + `, namespace: ` + namespace + `}
spec:
  type: noop
  podCIDR: 10.1.0.0/16
  serviceCIDR: 10.2.0.0/16
  providerConfig: ` + config + "\n"
}
