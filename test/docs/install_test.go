// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/trellis-network/trellis/test/sandbox"
)

// The commands of the guides install the charts that make writes, and an API server accepts what is in
// them without a warning. The sandbox runs no pods in its seed: test/charts runs the operator.
func TestTheGuidesInstallTheCharts(t *testing.T) {
	seed := newInstallation(t, landscape.Get(t), "./test/docs/helm")
	for document, deployments := range map[string][]string{
		"docs/install-gardener.md":   nil,
		"docs/install-standalone.md": {"trellis-operator", "trellis-admission"},
		"docs/admission.md":          {"trellis-admission"},
	} {
		t.Run(document, func(t *testing.T) {
			g := NewWithT(t)
			output := seed.follow(document)
			for _, deployment := range deployments {
				g.Expect(output).To(ContainSubstring("deployment.apps/" + deployment + " serverside-applied"))
			}
		})
	}
}

// installation is a seed into which the commands of guides install the charts.
type installation struct {
	*WithT
	t          *testing.T
	box        *sandbox.Sandbox
	kubeconfig string // of the cluster
	folder     string // in which the commands run, with what make writes in bin
}

// newInstallation returns the seed of a sandbox, unless kubeconfig is set to another cluster's, and builds programs for the commands' PATH.
func newInstallation(t *testing.T, box *sandbox.Sandbox, programs ...string) *installation {
	t.Helper()
	i := &installation{WithT: NewWithT(t), t: t, box: box, kubeconfig: box.Seed.Kubeconfig, folder: t.TempDir()}
	build := exec.CommandContext(t.Context(), "go", append([]string{"build", "-o", filepath.Join(i.folder, "path") + "/"}, programs...)...)
	build.Dir = root
	output, err := build.CombinedOutput()
	i.Expect(err).NotTo(HaveOccurred(), string(output))
	return i
}

// follow runs the commands of a guide, which must succeed without a warning, and returns what they
// print.
func (i *installation) follow(document string) string {
	i.t.Helper()
	makes, others := makesOf(strings.Join(blocks(i.t, document, "sh"), "\n"))
	for _, line := range append(makes, "make charts TAG=v0.1.0") {
		// Only the charts are made, and not into the checkout. test/images makes the images.
		arguments := strings.Fields(strings.Replace(line, "make images ", "make ", 1))[1:]
		command := exec.CommandContext(i.t.Context(), "make", append(arguments, "CHARTS="+filepath.Join(i.folder, "bin", "charts"))...)
		command.Dir = root
		output, err := command.CombinedOutput()
		i.Expect(err).NotTo(HaveOccurred(), string(output))
	}
	output, err := i.shell(others)
	i.Expect(err).NotTo(HaveOccurred(), output)
	i.Expect(output).NotTo(ContainSubstring("Warning"))
	return output
}

// shell runs a script for the seed, and returns what it prints.
func (i *installation) shell(script string) (string, error) {
	shell := exec.CommandContext(i.t.Context(), "bash", "-euo", "pipefail", "-c", script)
	shell.Dir = i.folder
	shell.Env = append(os.Environ(), "KUBECONFIG="+i.kubeconfig,
		"PATH="+filepath.Join(i.folder, "path")+":"+filepath.Dir(i.box.Kubectl)+":"+os.Getenv("PATH"))
	output, err := shell.CombinedOutput()
	return string(output), err
}

// makesOf parts the lines of a script that call make from the others.
func makesOf(script string) (makes []string, others string) {
	var rest strings.Builder
	for line := range strings.Lines(script) {
		if strings.HasPrefix(line, "make ") {
			makes = append(makes, strings.TrimSpace(line))
		} else {
			rest.WriteString(line)
		}
	}
	return makes, rest.String()
}
