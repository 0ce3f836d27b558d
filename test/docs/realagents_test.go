// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/trellis-network/trellis/test/sandbox"
)

// All commands of the guide work one after the other, on two real nodes. What is built
// beforehand is skipped: the programs of nodes, and an archive with images of agents.
func TestTheGuideToRealAgentsWorks(t *testing.T) {
	const anywhere, build = "/tmp/landscape", `"$(make -s real-nodes)"`
	g := NewWithT(t)
	nodes, err := sandbox.NodePrograms()
	if err != nil {
		t.Skip(err)
	}
	binary, err := sandbox.Binary()
	g.Expect(err).NotTo(HaveOccurred())
	if reason, err := exec.Command(binary, "check").CombinedOutput(); err != nil {
		t.Skip(string(reason))
	}
	folder := programs(t)
	bin := t.TempDir()
	g.Expect(os.Symlink(binary, filepath.Join(bin, "trellis-sandbox"))).To(Succeed())
	g.Expect(os.Symlink(binary, filepath.Join(bin, "kubectl"))).To(Succeed())
	copyFile(t, filepath.Join(nodes, "images", "traffic.tar"), filepath.Join(folder, "agents.tar"))

	// What follows needs sources of others.
	commands := strings.Join(blocks(t, "docs/real-agents.md", "sh"), "\n")
	commands, _, _ = strings.Cut(commands, "make realcalico")
	g.Expect(commands).To(And(ContainSubstring(anywhere), ContainSubstring(build)))
	landscape := filepath.Join(t.TempDir(), "landscape")
	commands = strings.NewReplacer(anywhere, landscape, build, nodes).Replace(commands)
	shell := exec.Command("bash", "-c", "set -euo pipefail\ntrap 'kill %1 2>/dev/null || true; trellis-sandbox down --dir "+landscape+"' EXIT\n"+commands)
	shell.Dir = folder
	shell.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"))
	output, err := shell.CombinedOutput()
	g.Expect(err).NotTo(HaveOccurred(), string(output))
	g.Expect(string(output)).To(And(
		ContainSubstring("shoot.core.gardener.cloud/flannel condition met"),
		ContainSubstring(`"missingImages": []`),
		ContainSubstring("default via 10.250.0.1"),
		ContainSubstring("shoot--dev--flannel")))
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	g := NewWithT(t)
	source, err := os.Open(from)
	g.Expect(err).NotTo(HaveOccurred())
	defer source.Close()
	target, err := os.Create(to)
	g.Expect(err).NotTo(HaveOccurred())
	_, err = io.Copy(target, source)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(target.Close()).To(Succeed())
}
