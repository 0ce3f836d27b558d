// SPDX-License-Identifier: Apache-2.0

// Package ci tests .ci/run.
package ci

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"
)

// run runs .ci/run with programs that only tell how they were called. There is no chromium unless it
// is among more programs. missing is why real nodes cannot run.
func run(t *testing.T, missing string, more ...string) string {
	t.Helper()
	g := NewWithT(t)
	tools := t.TempDir()
	for name, script := range map[string]string{"make": `echo "make $*"`, "go": `echo "$MISSING"`} {
		g.Expect(os.WriteFile(filepath.Join(tools, name), []byte("#!/bin/sh\n"+script+"\n"), 0o700)).To(Succeed())
	}
	for _, name := range more {
		g.Expect(os.WriteFile(filepath.Join(tools, name), []byte("#!/bin/sh\n"), 0o700)).To(Succeed())
	}
	dirname, err := exec.LookPath("dirname")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(os.Symlink(dirname, filepath.Join(tools, "dirname"))).To(Succeed())
	bash, err := exec.LookPath("bash")
	g.Expect(err).NotTo(HaveOccurred())
	command := exec.Command(bash, "../../.ci/run")
	command.Env = []string{"PATH=" + tools, "MISSING=" + missing}
	output, err := command.CombinedOutput()
	g.Expect(err).NotTo(HaveOccurred(), string(output))
	return string(output)
}

func TestWhatIsLeftOutIsNamedInALine(t *testing.T) {
	g := NewWithT(t)
	complete := run(t, "", "chromium")
	g.Expect(complete).To(And(ContainSubstring("make real-nodes\n"), HaveSuffix("make demo EXIT=1\nmake e2e e2e-guides\n")))
	g.Expect(complete).NotTo(ContainSubstring("left out"))
	g.Expect(run(t, "real nodes need root")).To(And(Not(ContainSubstring("real-nodes\n")), HaveSuffix(
		"make e2e e2e-guides are left out: real nodes need root\n"+
			"The test that opens the page of trellis connectivity is left out: there is no program chromium, which make deps installs.\n")))
}
