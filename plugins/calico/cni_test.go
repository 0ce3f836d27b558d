// SPDX-License-Identifier: Apache-2.0

package calico_test

import (
	"testing"

	. "github.com/onsi/gomega"
)

func TestCNIConfiguration(t *testing.T) {
	g := NewWithT(t)
	n := build(t, "")
	g.Expect(cniPlugin(n)).To(Equal(map[string]any{
		"type": "calico", "log_level": "error", "log_file_path": "/var/log/calico/cni/cni.log", "datastore_type": "kubernetes",
		"nodename": "__KUBERNETES_NODE_NAME__", "mtu": 1440.0,
		"ipam":       map[string]any{"type": "host-local", "subnet": "usePodCidr", "assign_ipv4": "true", "assign_ipv6": "false"},
		"policy":     map[string]any{"type": "k8s"},
		"kubernetes": map[string]any{"kubeconfig": "__KUBECONFIG_FILEPATH__"},
	}), "the test put 1440 where the installer puts the MTU")
	g.Expect(cniPlugins(n)[1:]).To(Equal([]any{map[string]any{
		"type": "portmap", "snat": true, "capabilities": map[string]any{"portMappings": true},
	}}))
}

func TestRangeOfHostLocalIsSpeltAsWritten(t *testing.T) {
	for config, want := range map[string]string{
		"ipam: {cidr: usePodCIDR}":                                             "usePodCIDR",
		"ipam: {cidr: USEPODCIDR}":                                             "USEPODCIDR",
		"ipam: {cidr: 100.64.1.0/24}":                                          "100.64.1.0/24",
		"ipam: {}":                                                             "usePodCidr",
		"ipam: {type: calico-ipam, cidr: 100.64.1.0/24}":                       "usePodCidr",
		"ipam: {type: calico-ipam, cidr: usePodCIDR}":                          "usePodCidr",
		"{vxlan: {enabled: true}, ipam: {cidr: 1.2.3.0/8}}":                    "1.2.3.0/8",
		"{vxlan: {enabled: true}, ipam: {type: host-local, cidr: usePodCIDR}}": "usePodCIDR",
	} {
		t.Run(config, func(t *testing.T) {
			NewWithT(t).Expect(cniPlugin(build(t, config))["ipam"]).To(HaveKeyWithValue("subnet", want))
		})
	}
}
