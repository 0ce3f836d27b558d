// SPDX-License-Identifier: Apache-2.0

// Package examples_test checks that the manifests of this folder are as their README and
// comments describe them.
package examples_test

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/trellis-network/trellis/cli"
	"github.com/trellis-network/trellis/plugins"
	"github.com/trellis-network/trellis/providers"
)

// results are the lines with the verdicts for the examples that are invalid, or have
// warnings on purpose.
var results = map[string]string{
	"broken.yaml":              "shoot garden-dev/broken: invalid (calico, 2 errors)",
	"network-gardenet.yaml":    "network default/my-network: invalid (gardenet, 1 error)",
	"shoot-johndoe-azure.yaml": "shoot garden-dev/johndoe-azure: valid (calico, 3 warnings)",
}

func TestEveryExampleValidatesAsDescribed(t *testing.T) {
	for _, file := range manifests(t) {
		t.Run(file, func(t *testing.T) {
			g := NewWithT(t)
			exit, report := trellis("validate", "-f", file)
			if result, has := results[file]; has {
				g.Expect(report).To(ContainSubstring(result + "\n"))
			} else {
				g.Expect(report).To(ContainSubstring(": valid ("))
			}
			wanted := cli.ExitOK
			if strings.Contains(report, ": invalid (") {
				wanted = cli.ExitInvalid
			}
			g.Expect(exit).To(Equal(wanted), "validate")
			exit, _ = trellis("render", "-f", file)
			g.Expect(exit).To(Equal(wanted), "render")
		})
	}
}

func TestAnUnknownTypeListsTheKnownTypes(t *testing.T) {
	g := NewWithT(t)
	_, report := trellis("validate", "-f", "network-gardenet.yaml")
	g.Expect(report).To(ContainSubstring(`error: spec.type: Unsupported value: "gardenet": supported values: `))
}

func TestTheBrokenExampleNamesBothMistakes(t *testing.T) {
	g := NewWithT(t)
	_, report := trellis("validate", "-f", "broken.yaml")
	g.Expect(report).To(And(
		ContainSubstring(`spec.networking.providerConfig.backend: Invalid value: "ipvlan"`),
		ContainSubstring(`spec.networking.providerConfig.vethMTU: Invalid value: "1440 bytes"`),
	))
}

func TestExamplesNameTheirSourceAndHaveNoPlaceholders(t *testing.T) {
	for _, file := range manifests(t) {
		g := NewWithT(t)
		text, err := os.ReadFile(file)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(string(text)).To(MatchRegexp(`^# (From [A-Za-z]|Our own: )`), file)
		for line := range strings.Lines(string(text)) {
			content, _, _ := strings.Cut(line, "#")
			g.Expect(content).NotTo(ContainSubstring("..."), file)
			g.Expect(content).NotTo(ContainSubstring("<"), file)
		}
	}
}

func TestTheReadmeListsEveryExample(t *testing.T) {
	g := NewWithT(t)
	readme, err := os.ReadFile("README.md")
	g.Expect(err).NotTo(HaveOccurred())
	var listed []string
	for _, row := range regexp.MustCompile(`(?m)^\| \[(.+?)\]\((.+?)\)`).FindAllStringSubmatch(string(readme), -1) {
		g.Expect(row[1]).To(Equal(row[2]))
		listed = append(listed, row[1])
	}
	slices.Sort(listed)
	g.Expect(listed).To(Equal(manifests(t)))
}

// manifests returns the names of the examples, sorted.
func manifests(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no examples: %v", err)
	}
	return files
}

// trellis runs the command line and returns its output and error output together.
func trellis(args ...string) (exit int, output string) {
	var out bytes.Buffer
	exit = cli.Run(args, cli.Streams{In: strings.NewReader(""), Out: &out, Err: &out}, plugins.All(), providers.All())
	return exit, out.String()
}
