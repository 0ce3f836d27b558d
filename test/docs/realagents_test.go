// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/trellis-network/trellis/test/sandbox"
)

// All commands of the guide work one after the other, on two real nodes. What they build is built
// beforehand.
func TestTheGuideToRealAgentsWorks(t *testing.T) {
	const anywhere, box, programsOfNodes, trellis = "/tmp/landscape", `"$(go run ./test/sandbox/build)"`, `"$(make -s real-nodes)"`, "make build\n"
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
	// What follows needs sources of others.
	commands := strings.Join(blocks(t, "docs/real-agents.md", "sh"), "\n")
	commands, _, _ = strings.Cut(commands, "make realcalico")
	for _, text := range []string{anywhere, box, programsOfNodes, trellis} {
		g.Expect(commands).To(ContainSubstring(text))
	}
	landscape := filepath.Join(t.TempDir(), "landscape")
	commands = strings.NewReplacer(anywhere, landscape, box, binary, programsOfNodes, nodes, trellis, "").Replace(commands)
	shell := exec.Command("bash", "-c", "set -euo pipefail\ntrap 'kill %1 2>/dev/null || true; trellis-sandbox down --dir "+landscape+"' EXIT\n"+commands)
	shell.Dir = programs(t)
	output, err := shell.CombinedOutput()
	g.Expect(err).NotTo(HaveOccurred(), string(output))
	g.Expect(string(output)).To(And(
		ContainSubstring("shoot.core.gardener.cloud/flannel condition met"),
		ContainSubstring(`"missingImages": []`),
		ContainSubstring("default via 10.250.0.1"),
		ContainSubstring("shoot--dev--flannel")))
}
