// SPDX-License-Identifier: Apache-2.0

package calico_test

import (
	"testing"

	. "github.com/onsi/gomega"

	"github.com/trellis-network/trellis/test/built"
)

// ours are the containers whose scripts are Trellis' own.
var ours = []string{
	"cleanup-routes", "log-mtu-issues", "hostpath-init", "install-cni-plugins",
	"add-snat-rule-to-upstream-dns", "network-unavailable-condition-ensurer",
}

// takeovers are networks whose pod templates are known as Gardener's extension renders them, by
// name in testdata/gardener-templates.yaml.
var takeovers = map[string]struct {
	config  string
	options []option
}{
	"default": {},
	"overlay": {"overlay: {enabled: true}", []option{withVPA}},
	"vxlan":   {"{overlay: {enabled: true}, vxlan: {enabled: true}}", nil},
	"direct":  {"overlay: {enabled: false}", nil},
	"ebpf": {"{overlay: {enabled: true}, ebpfDataplane: {enabled: true}, wireguardEncryption: true, serviceLoopPrevention: Drop, " +
		"autoScaling: {mode: vpa, resources: {node: {cpu: 300m}}}}", []option{withVPA, withKubeProxy(false, "")}},
	"dual-stack": {"{overlay: {enabled: false}, birdExporter: {enabled: true}, multus: {enabled: true, installCNIPlugins: true}, " +
		"autoScaling: {mode: static, resources: {typha: {memory: 200Mi}}}}",
		[]option{dualStack, withNodes(nodeCIDR, []string{nodeCIDR, "2001:db8:7::/56"})}},
}

// Pods of Gardener's extension restart for nothing but a script of Trellis' own or another
// configuration: the rest of their templates is the same, and what secures them, too.
func TestPodTemplatesAreThoseOfGardenersExtensionButForScripts(t *testing.T) {
	built.ExpectTemplates(t, "testdata/gardener-templates.yaml", len(takeovers), func(name string) map[string]string {
		one, known := takeovers[name]
		NewWithT(t).Expect(known).To(BeTrue(), name)
		return build(t, one.config, one.options...).Templates(ours...)
	})
}
