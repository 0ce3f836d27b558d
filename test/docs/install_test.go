// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

// The commands of the guides install the charts that make writes, and an API server accepts what is in
// them without a warning. The sandbox runs no pods in its seed: test/charts runs the operator.
func TestTheGuidesInstallTheCharts(t *testing.T) {
	box := landscape.Get(t)
	folder := t.TempDir()
	build := exec.CommandContext(t.Context(), "go", "build", "-o", filepath.Join(folder, "path")+"/", "./test/docs/helm")
	build.Dir = root
	output, err := build.CombinedOutput()
	NewWithT(t).Expect(err).NotTo(HaveOccurred(), string(output))
	for document, deployments := range map[string][]string{
		"docs/install-gardener.md":   nil,
		"docs/install-standalone.md": {"trellis-operator", "trellis-admission"},
		"docs/admission.md":          {"trellis-admission"},
	} {
		t.Run(document, func(t *testing.T) {
			g := NewWithT(t)
			makes, others := makesOf(strings.Join(blocks(t, document, "sh"), "\n"))
			for _, line := range append(makes, "make charts TAG=v0.1.0") {
				// Only the charts are made, and not into the checkout. test/images makes the images.
				arguments := strings.Fields(strings.Replace(line, "make images ", "make ", 1))[1:]
				command := exec.CommandContext(t.Context(), "make", append(arguments, "CHARTS="+filepath.Join(folder, "bin", "charts"))...)
				command.Dir = root
				output, err := command.CombinedOutput()
				g.Expect(err).NotTo(HaveOccurred(), string(output))
			}
			shell := exec.CommandContext(t.Context(), "bash", "-euo", "pipefail", "-c", others)
			shell.Dir = folder
			shell.Env = append(os.Environ(), "KUBECONFIG="+box.Seed.Kubeconfig,
				"PATH="+filepath.Join(folder, "path")+":"+filepath.Dir(box.Kubectl)+":"+os.Getenv("PATH"))
			output, err := shell.CombinedOutput()
			g.Expect(err).NotTo(HaveOccurred(), string(output))
			g.Expect(string(output)).NotTo(ContainSubstring("Warning"))
			for _, deployment := range deployments {
				g.Expect(string(output)).To(ContainSubstring("deployment.apps/" + deployment + " serverside-applied"))
			}
		})
	}
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
