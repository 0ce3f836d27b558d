// SPDX-License-Identifier: Apache-2.0

// Package docs runs the commands in the documents.
package docs

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/trellis-network/trellis/test/sandbox"
)

const root = "../.."

var landscape = sandbox.Share(sandbox.Options{Shoots: []string{"garden-dev/johndoe-azure"}, Nodes: 2, Users: []string{"trellis-operator"}})

func TestMain(m *testing.M) { os.Exit(landscape.Main(m)) }

var (
	block = regexp.MustCompile("(?ms)^```([a-z]*)\n(.*?)^```$")
	path  = regexp.MustCompile("`([a-z0-9]+/[^`]*)`")
	link  = regexp.MustCompile(`\]\(([^)#:]+)\)`)
)

// blocks returns the code blocks of a document that are in a language.
func blocks(t *testing.T, document, language string) []string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(root, document))
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	var found []string
	for _, match := range block.FindAllStringSubmatch(string(content), -1) {
		if match[1] == language {
			found = append(found, match[2])
		}
	}
	return found
}

func documents(t *testing.T) []string {
	t.Helper()
	g := NewWithT(t)
	var all []string
	for _, pattern := range []string{"*.md", "docs/*.md", "examples/*.md", "plugins/*/*.md", "sandbox/*.md", "agents/*.md"} {
		files, err := filepath.Glob(filepath.Join(root, pattern))
		g.Expect(err).NotTo(HaveOccurred())
		for _, file := range files {
			relative, err := filepath.Rel(root, file)
			g.Expect(err).NotTo(HaveOccurred())
			all = append(all, relative)
		}
	}
	return all
}

func TestLinkedFilesExist(t *testing.T) {
	for _, document := range documents(t) {
		content, err := os.ReadFile(filepath.Join(root, document))
		NewWithT(t).Expect(err).NotTo(HaveOccurred())
		for _, match := range link.FindAllStringSubmatch(string(content), -1) {
			target := filepath.Join(root, filepath.Dir(document), match[1])
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s links to %s, which does not exist", document, match[1])
			}
		}
	}
}

// The files in the table "Where is …" exist.
func TestThePathsInCONTRIBUTINGExist(t *testing.T) {
	g := NewWithT(t)
	content, err := os.ReadFile(filepath.Join(root, "CONTRIBUTING.md"))
	g.Expect(err).NotTo(HaveOccurred())
	_, table, found := strings.Cut(string(content), "\n## Where is …\n")
	g.Expect(found).To(BeTrue())
	table, _, _ = strings.Cut(table, "\n## ")
	paths := path.FindAllStringSubmatch(table, -1)
	g.Expect(len(paths)).To(BeNumerically(">", 15))
	for _, match := range paths {
		files, err := filepath.Glob(filepath.Join(root, strings.ReplaceAll(match[1], "<type>", "*")))
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(files).NotTo(BeEmpty(), match[1])
	}
}

// programs returns a folder with the config, examples and bin that the documents expect in
// the working directory.
func programs(t *testing.T) (folder string) {
	t.Helper()
	folder = filepath.Join(landscape.Get(t).Dir, "tree")
	once.Do(func() {
		g := NewWithT(t)
		g.Expect(os.Mkdir(folder, 0o700)).To(Succeed())
		for _, name := range []string{"config", "examples"} {
			absolute, err := filepath.Abs(filepath.Join(root, name))
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(os.Symlink(absolute, filepath.Join(folder, name))).To(Succeed())
		}
		command := exec.Command("go", "build", "-o", filepath.Join(folder, "bin")+"/", "./cmd/...")
		command.Dir = root
		output, err := command.CombinedOutput()
		g.Expect(err).NotTo(HaveOccurred(), string(output))
	})
	return folder
}

var once sync.Once

// A command on an example that a document calls broken must fail. All others must succeed.
func TestCommandsOfTheREADME(t *testing.T) {
	makefile, err := os.ReadFile(filepath.Join(root, "Makefile"))
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	folder := programs(t)
	for _, lines := range append(blocks(t, "README.md", "sh"), blocks(t, "examples/README.md", "")...) {
		for line := range strings.Lines(lines) {
			command := strings.TrimSpace(strings.Split(line, "#")[0])
			if strings.HasPrefix(command, "trellis ") {
				command = "bin/" + command
			}
			t.Run(command, func(t *testing.T) {
				g := NewWithT(t)
				if target, isMake := strings.CutPrefix(command, "make "); isMake {
					g.Expect(string(makefile)).To(ContainSubstring("\n" + strings.Fields(target)[0] + ":"))
					return
				}
				shell := exec.Command("bash", "-c", command)
				shell.Dir = folder
				output, err := shell.CombinedOutput()
				g.Expect(shell.ProcessState.ExitCode()).To(Equal(expectedStatus(command)), "%s: %v", output, err)
			})
		}
	}
}

// All commands of the guide work one after the other, in a landscape of their own.
func TestTheStandaloneGuideWorks(t *testing.T) {
	g := NewWithT(t)
	box := landscape.Get(t)
	folder := programs(t)
	script := "set -euo pipefail\ntrap 'kill %1' EXIT\n" + strings.Join(blocks(t, "docs/run-standalone.md", "sh"), "\n")
	shell := exec.Command("bash", "-c", script)
	shell.Dir = folder
	shell.Env = append(os.Environ(),
		"PATH="+filepath.Dir(box.Kubectl)+":"+os.Getenv("PATH"),
		"KUBECONFIG="+box.Seed.Kubeconfig,
		"OPERATOR_KUBECONFIG="+box.Seed.Users["trellis-operator"],
		"SHOOT_KUBECONFIG="+box.Shoots[0].Kubeconfig)
	output, err := shell.CombinedOutput()
	g.Expect(err).NotTo(HaveOccurred(), string(output))
	g.Expect(string(output)).To(And(
		ContainSubstring("shoot.core.gardener.cloud/johndoe-azure condition met"),
		ContainSubstring("backend: vxlan"),
		ContainSubstring("VXLAN between nodes; routes by Felix"),
		MatchRegexp(`extension-networking-calico-config\s+True\s+`)))
}

// expectedStatus returns the exit status of a command: 1 for a broken example, and 3 for a
// change that interrupts traffic.
func expectedStatus(command string) int {
	switch {
	case strings.Contains(command, "broken"):
		return 1
	case strings.Contains(command, "trellis plan"):
		return 3
	default:
		return 0
	}
}

// The guide quotes the code of the example unchanged, and its commands work.
func TestTheGuideToPluginsShowsTheExample(t *testing.T) {
	const guide = "docs/write-a-plugin.md"
	var example strings.Builder
	files, err := filepath.Glob(filepath.Join(root, "examples/gardenet/*.go"))
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	agent, err := filepath.Glob(filepath.Join(root, "examples/gardenet/gardenet-agent/*.go"))
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	files = append(files, agent...)
	for _, file := range files {
		content, err := os.ReadFile(file)
		NewWithT(t).Expect(err).NotTo(HaveOccurred())
		example.Write(content)
	}
	shown := blocks(t, guide, "go")
	NewWithT(t).Expect(len(shown)).To(BeNumerically(">", 8))
	for _, code := range shown {
		if !strings.Contains(example.String(), code) {
			t.Errorf("examples/gardenet does not have\n%s", code)
		}
	}
	for _, commands := range blocks(t, guide, "sh") {
		shell := exec.Command("bash", "-euo", "pipefail", "-c", commands)
		shell.Dir = root
		if output, err := shell.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", commands, err, output)
		}
	}
}
