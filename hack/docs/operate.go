// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os/exec"
	"strings"

	"github.com/trellis-network/trellis/hack/section"
	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/plugins"
)

const operate = "docs/operate.md"

// writeGates writes the table of all feature gates.
func writeGates() error {
	types := map[string][]string{}
	var gates []plugin.FeatureGate
	for _, one := range plugins.All() {
		for _, gate := range one.FeatureGates {
			if types[gate.Name] == nil {
				gates = append(gates, gate)
			}
			types[gate.Name] = append(types[gate.Name], one.Type)
		}
	}
	var table strings.Builder
	table.WriteString("| Gate | Networks | Stage | Default | What it does | What it needs | What is known against it |\n|---|---|---|---|---|---|---|\n")
	for _, gate := range gates {
		fmt.Fprintf(&table, "| `%s` | %s | %s | %t | %s | %s | %s |\n",
			gate.Name, strings.Join(types[gate.Name], ", "), gate.Stage, gate.Default, gate.Doc, gate.Needs, gate.Against)
	}
	return section.Write(operate, "gates", table.String())
}

// tested are the modules whose programs and libraries tests run.
var tested = []struct{ what, dir, module, how string }{
	{"Kubernetes of seeds and shoots", "sandbox", "k8s.io/kubernetes", "API servers, controllers and schedulers run in most tests"},
	{"kubelet and kube-proxy on nodes", "sandbox", "k8s.io/kubernetes", "`make e2e` runs them with real containers; other tests simulate nodes"},
	{"containerd on nodes", "sandbox/components/containerd", "github.com/containerd/containerd/v2", "the same"},
	{"CoreDNS", "sandbox/components/coredns", "github.com/coredns/coredns", "the same"},
	{"flannel", "agents", "github.com/flannel-io/flannel", "`make e2e` sends packets through it"},
	{"Helm", ".", "helm.sh/helm/v4", "renders the charts"},
	{"Prometheus Operator's kinds", ".", "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring", "what Trellis writes of them is decoded with their types"},
}

// contracts are the programs of others whose behaviour tests simulate. Their development versions were read.
var contracts = []struct{ what, version, how string }{
	{"Gardener", "1.150", "none of its programs run: tests simulate gardenlet, the resource manager and their webhooks"},
	{"networking-calico", "1.60", "it does not run: its pod templates are compared, and tests simulate what it leaves and takes back"},
	{"networking-cilium", "1.49", "the same"},
}

// writeVersions writes the table of the versions that tests run or simulate.
func writeVersions() error {
	var table strings.Builder
	table.WriteString("| What | Version | What tests do with it |\n|---|---|---|\n")
	for _, one := range tested {
		list := exec.Command("go", "list", "-m", "-f", "{{.Version}}", one.module)
		list.Dir = one.dir
		version, err := list.Output()
		if err != nil {
			return fmt.Errorf("find the version of %s: %w", one.module, err)
		}
		fmt.Fprintf(&table, "| %s | %s | %s |\n", one.what, strings.TrimSpace(string(version)), one.how)
	}
	for _, one := range contracts {
		fmt.Fprintf(&table, "| %s | %s | %s |\n", one.what, one.version, one.how)
	}
	return section.Write(operate, "versions", table.String())
}
