// SPDX-License-Identifier: Apache-2.0

package plugintest

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"
)

// What a hook reads beside its arguments shows in no network that a test makes. The check
// of the source, which make lint runs, finds it.
func TestSourcesThatAreNotPureAreFound(t *testing.T) {
	for name, test := range map[string]struct{ source, says string }{
		"an environment variable": {"import sys \"os\"\nfunc image() string { return sys.Getenv(\"IMAGE\") }", `plugin.go:2:import sys "os"`},
		"the name of the host":    {"import (\n\t\"os\"\n)\nvar host, _ = os.Hostname()", "plugin.go:3:"},
		"a lookup":                {"import \"net\"\nvar host, _ = net.LookupHost(\"localhost\")", "plugin.go:3:"},
		"the time":                {"import \"time\"\nfunc init() { started = time.Now() }", "plugin.go:3:func init()"},
		"chance":                  {"import \"math/rand/v2\"\nfunc port() int { return rand.IntN(1000) }", "plugin.go:2:"},
		"nothing":                 {"import \"time\"\nconst leastTime = 5 * time.Second", ""},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			folder := t.TempDir()
			file := filepath.Join(folder, "below", "plugin.go")
			g.Expect(os.Mkdir(filepath.Dir(file), 0o700)).To(Succeed())
			g.Expect(os.WriteFile(file, []byte("package plugin\n"+test.source), 0o600)).To(Succeed())
			said, err := exec.Command("../../hack/check-pure.sh", folder).CombinedOutput()
			if test.says == "" {
				g.Expect(err).NotTo(HaveOccurred(), string(said))
				return
			}
			g.Expect(err).To(HaveOccurred())
			g.Expect(string(said)).To(ContainSubstring(test.says))
		})
	}
}
