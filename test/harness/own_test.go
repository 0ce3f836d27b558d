// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

// own has the packages that can't share a sandbox with others, with the reason.
var own = map[string]string{
	"examples/gardenet": "is another Go module, and its operator works on all of a seed",
	"internal/webhook":  "its operator works on all of a seed",
	"plugin/plugintest": "makes and deletes the CRDs of plugins, and sees that none is left",
	"plugins/calico":    "makes and deletes the CRDs of Calico, and the namespaces that all plugins have",
	"plugins/cilium":    "makes and deletes the CRDs of Cilium, and the namespaces that all plugins have",
	"plugins/flannel":   "makes and deletes the namespaces that all plugins have",
	"test/api":          "policies forbid the deletion of any Network",
	"test/contract":     "needs a second seed with Gardener's CRDs, and policies that forbid the deletion of any Network",
	"test/demo":         "is started by a user",
	"test/docs":         "the guide's operator works on all of a seed",
	"test/e2e":          "operators work on all of a seed, and the tests compare all objects of it",
	"test/fairness":     "controllers work on all of a seed, and the load would change others' times",
	"test/pairwise":     "makes the CRDs of all plugins",
	"test/robustness":   "is its own shoot, with the cluster-scoped objects of networks, and holds them against an undisturbed run",
}

var starts = regexp.MustCompile(`\b(sandbox\.(Share|ForTest|Start)|harness\.Own)\(`)

func TestOnlyTheseHaveASandboxOfTheirOwn(t *testing.T) {
	g := NewWithT(t)
	found := map[string]bool{}
	root := filepath.Join("..", "..")
	g.Expect(filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		folder := filepath.ToSlash(strings.TrimPrefix(filepath.Dir(path), root+string(filepath.Separator)))
		switch {
		case err != nil:
			return err
		case entry.IsDir() || !strings.HasSuffix(path, ".go") || slices.Contains([]string{"hack/gotest", "test/harness", "test/sandbox"}, folder):
			return nil
		}
		code, err := os.ReadFile(path)
		if starts.Match(code) {
			found[folder] = true
		}
		return err
	})).To(Succeed())
	g.Expect(slices.Sorted(maps.Keys(found))).To(Equal(slices.Sorted(maps.Keys(own))))
}
