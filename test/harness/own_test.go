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

// own has the packages that cannot share a sandbox with other packages, and the reason.
var own = map[string]string{
	"examples/gardenet": "is another Go module, and its operator reconciles all objects of a seed",
	"internal/controller/networkstatus/connectivity": "probes belong to all Networks of a shoot",
	"internal/webhook":  "its operator reconciles all objects of a seed",
	"plugin/plugintest": "creates and deletes the CRDs of plugins, and checks that none is left",
	"plugins/calico":    "creates and deletes the CRDs of Calico, and the namespaces that all plugins use",
	"plugins/cilium":    "creates and deletes the CRDs of Cilium, and the namespaces that all plugins use",
	"plugins/flannel":   "creates and deletes the namespaces that all plugins use",
	"test/admission":    "webhooks are asked about all Shoots of a garden",
	"test/charts":       "installs the CRDs and policies of a chart",
	"test/api":          "policies forbid the deletion of any Network",
	"test/contract":     "needs a second seed with Gardener's CRDs, and policies that forbid the deletion of any Network",
	"test/costs":        "measures processes that nothing else uses",
	"test/demo":         "a user starts it",
	"test/docs":         "the guide's operator reconciles all objects of a seed",
	"test/e2e":          "operators reconcile all objects of a seed, and the tests compare all of its objects",
	"test/fairness":     "controllers reconcile all objects of a seed, and their load would slow other packages down",
	"test/flannel":      "flannel's daemons read all nodes of a cluster",
	"test/installed":    "operators reconcile all objects of a seed, and it needs a second seed with Gardener's CRDs",
	"test/pairwise":     "creates the CRDs of all plugins",
	"test/probe":        "applies the probe's cluster-scoped objects, and creates nodes",
	"test/realagents":   "has real nodes",
	"test/realnodes":    "has real nodes",
	"test/robustness":   "its seed is also its shoot, with the cluster-scoped objects of networks, which it compares with an undisturbed run",
}

var starts = regexp.MustCompile(`\b(sandbox\.(Share|ForTest|Start)|harness\.Own)\(`)

func TestOnlyListedPackagesHaveASandboxOfTheirOwn(t *testing.T) {
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
