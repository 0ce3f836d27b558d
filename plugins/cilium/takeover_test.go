// SPDX-License-Identifier: Apache-2.0

package cilium_test

import (
	"testing"

	. "github.com/onsi/gomega"

	"github.com/trellis-network/trellis/test/built"
)

// ours are the containers whose scripts are Trellis' own.
var ours = []string{
	"disable-rp-filter", "mount-cgroup", "apply-sysctl-overwrites", "mount-bpf-fs", "cilium-kube-proxy-clean-up",
	"add-snat-rule-to-upstream-dns", "add-snat-rule-to-outside-world",
}

// takeovers are networks whose pod templates are known as Gardener's extension renders them, by
// name in testdata/gardener-templates.yaml.
var takeovers = map[string]struct {
	config  string
	options []option
}{
	"default": {},
	"direct":  {"{overlay: {enabled: false}, hubble: {enabled: true}, snatToUpstreamDNS: {enabled: true}}", nil},
	"without-kube-proxy": {"{encryption: {enabled: true, mode: wireguard, nodeToNodeEnabled: true}, l2Announcements: {enabled: true}}",
		[]option{withoutKubeProxy, withNodeLocalDNS}},
	"dual-stack": {"{overlay: {enabled: false}, hubble: {enabled: true}, snatOutOfCluster: {enabled: true}, bgpControlPlane: {enabled: true}}",
		[]option{dualStack, withNodeLocalDNS}},
}

// Pods of Gardener's extension restart for nothing but a script of Trellis' own or another
// configuration: the rest of their templates is the same, and what secures them, too. The Job of
// the certificates runs anew if its template changes, and makes another authority.
func TestPodTemplatesAreThoseOfGardenersExtensionButForScripts(t *testing.T) {
	built.ExpectTemplates(t, "testdata/gardener-templates.yaml", len(takeovers), func(name string) map[string]string {
		one, known := takeovers[name]
		NewWithT(t).Expect(known).To(BeTrue(), name)
		return build(t, one.config, one.options...).Templates(ours...)
	})
}
