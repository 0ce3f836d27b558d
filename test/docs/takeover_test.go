// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/yaml"

	resourcesv1alpha1 "github.com/trellis-network/trellis/api/resources/v1alpha1"
)

// The commands of the guide delete, on the whole seed, the ManagedResources that Gardener's extensions do
// not know, and no others. Their objects stay in the shoots, but for those of the probe.
func TestTheCommandsOfTheWayBackDeleteWhatExtensionsDoNotKnow(t *testing.T) {
	g := NewWithT(t)
	box := landscape.Get(t)
	i := &installation{WithT: g, t: t, box: box, kubeconfig: box.Seed.Kubeconfig, folder: t.TempDir()}
	definitions, err := filepath.Abs(filepath.Join(root, "config", "crd"))
	g.Expect(err).NotTo(HaveOccurred())
	namespaces := []string{"shoot--back--one", "shoot--back--two"}
	stay := []string{"extension-networking-calico-config", "extension-networking-cilium-config", "extension-cilium-shoot-webhooks"}
	leave := []string{"extension-networking-calico-config-seed", "extension-networking-cilium-config-seed", "extension-networking-cilium-config-later"}
	script := "kubectl apply -f " + definitions + "\nkubectl wait --for=condition=Established crd/managedresources.resources.gardener.cloud\n"
	for _, namespace := range namespaces {
		script += "kubectl create namespace " + namespace + "\n"
		for _, name := range append(append([]string{"trellis-connectivity-probe"}, stay...), leave...) {
			held := "" // as a resource manager holds what it has not seen to
			if name != "trellis-connectivity-probe" {
				held = "finalizers: [example.com/held], "
			}
			script += fmt.Sprintf("kubectl create -f - <<'EOF'\n{apiVersion: resources.gardener.cloud/v1alpha1, kind: ManagedResource, "+
				"metadata: {%snamespace: %s, name: %s}, spec: {secretRefs: [{name: objects}]}}\nEOF\n", held, namespace, name)
		}
	}
	output, err := i.shell(script)
	g.Expect(err).NotTo(HaveOccurred(), output)
	t.Cleanup(func() {
		for _, namespace := range namespaces {
			_, _ = i.shell("kubectl -n " + namespace + " get managedresources -o name | xargs kubectl -n " + namespace +
				" patch --type merge --patch '{\"metadata\":{\"finalizers\":null}}'\nkubectl delete --wait=false namespace " + namespace)
		}
	})

	output, err = i.shell(wayBack(t))
	g.Expect(err).NotTo(HaveOccurred(), output)
	output, err = i.shell("kubectl get managedresources -A -o yaml")
	g.Expect(err).NotTo(HaveOccurred(), output)
	left := &resourcesv1alpha1.ManagedResourceList{}
	g.Expect(yaml.Unmarshal([]byte(output), left)).To(Succeed())
	byName := map[string][]resourcesv1alpha1.ManagedResource{}
	for _, mr := range left.Items {
		if strings.HasPrefix(mr.Namespace, "shoot--back--") {
			byName[mr.Name] = append(byName[mr.Name], mr)
		}
	}
	g.Expect(byName).To(HaveLen(len(stay) + len(leave)))
	for _, name := range stay {
		g.Expect(byName[name]).To(HaveLen(2), name)
		g.Expect(byName[name]).To(HaveEach(HaveField("DeletionTimestamp", BeNil())), name)
	}
	for _, name := range leave {
		g.Expect(byName[name]).To(HaveLen(2), name)
		g.Expect(byName[name]).To(HaveEach(HaveField("DeletionTimestamp", Not(BeNil()))), name)
		g.Expect(byName[name]).To(HaveEach(HaveField("Spec.KeepObjects", HaveValue(BeTrue()))), name)
	}
}

// wayBack returns the commands of the guide that delete ManagedResources, as a script.
func wayBack(t *testing.T) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(root, "docs", "takeover.md"))
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	_, section, found := strings.Cut(string(content), "\n## Hand back\n")
	NewWithT(t).Expect(found).To(BeTrue())
	const indent = "\n   "
	_, script, found := strings.Cut(section, indent+"```console")
	NewWithT(t).Expect(found).To(BeTrue())
	script, _, found = strings.Cut(script, indent+"```")
	NewWithT(t).Expect(found).To(BeTrue())
	return strings.ReplaceAll(strings.ReplaceAll(script, indent+"$ ", "\n"), indent, "\n")
}
