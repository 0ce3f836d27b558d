// SPDX-License-Identifier: Apache-2.0

package flannel_test

import (
	"fmt"
	"testing"

	. "github.com/onsi/gomega"
)

func TestWhatTheDaemonIsTold(t *testing.T) {
	for _, test := range []struct {
		name, config string
		options      []option
		want         string
	}{
		{name: "nothing was written", want: `{"Network": "100.64.0.0/12", "EnableIPv4": true, "EnableIPv6": false, "EnableNFTables": false,
			"Backend": {"Type": "vxlan", "VNI": 1, "Port": 8472, "DirectRouting": false}}`},
		{name: "VXLAN", config: "{backend: {port: 4789, vni: 7, directRouting: true}, mtu: 9000}",
			want: `{"Network": "100.64.0.0/12", "EnableIPv4": true, "EnableIPv6": false, "EnableNFTables": false,
			"Backend": {"Type": "vxlan", "VNI": 7, "Port": 4789, "MTU": 9000, "DirectRouting": true}}`},
		{name: "host-gw", config: "{backend: {type: host-gw}, mtu: 9000, nftables: true}",
			want: `{"Network": "100.64.0.0/12", "EnableIPv4": true, "EnableIPv6": false, "EnableNFTables": true, "Backend": {"Type": "host-gw"}}`},
		{name: "IPv6", options: []option{ipv6Only},
			want: `{"IPv6Network": "2001:db8:1::/56", "EnableIPv4": false, "EnableIPv6": true, "EnableNFTables": false,
			"Backend": {"Type": "vxlan", "VNI": 1, "Port": 8472, "DirectRouting": false}}`},
		{name: "both families", options: []option{dualStack}, config: "backend: {type: host-gw}",
			want: `{"Network": "100.64.0.0/12", "IPv6Network": "2001:db8:1::/56", "EnableIPv4": true, "EnableIPv6": true, "EnableNFTables": false,
			"Backend": {"Type": "host-gw"}}`},
		{name: "both families, in the other order", options: []option{ipv6First}, config: "backend: {type: host-gw}",
			want: `{"Network": "100.64.0.0/12", "IPv6Network": "2001:db8:1::/56", "EnableIPv4": true, "EnableIPv6": true, "EnableNFTables": false,
			"Backend": {"Type": "host-gw"}}`},
		{name: "not all nodes are ready for both", options: []option{migrating}, config: "backend: {type: host-gw}",
			want: `{"Network": "100.64.0.0/12", "EnableIPv4": true, "EnableIPv6": false, "EnableNFTables": false, "Backend": {"Type": "host-gw"}}`},
	} {
		t.Run(test.name, func(t *testing.T) {
			NewWithT(t).Expect(build(t, test.config, test.options...).setting("net-conf.json")).To(MatchJSON(test.want))
		})
	}
}

// Where packets are encapsulated, the daemon tells the CNI plugin the MTU.
func TestWhatTheContainerRuntimeIsTold(t *testing.T) {
	const chain = `{"name": "cbr0", "cniVersion": "0.3.1", "plugins": [
		{"type": "flannel", "delegate": {"hairpinMode": true, "isDefaultGateway": true%s}},
		{"type": "portmap", "capabilities": {"portMappings": true}}]}`
	for config, mtu := range map[string]string{
		"":                                      "",
		"mtu: 9000":                             "",
		"backend: {type: host-gw}":              "",
		"{backend: {type: host-gw}, mtu: 9000}": `, "mtu": 9000`,
	} {
		t.Run(config, func(t *testing.T) {
			NewWithT(t).Expect(build(t, config).setting("cni-conf.json")).To(MatchJSON(fmt.Sprintf(chain, mtu)))
		})
	}
}

func TestOtherSettingsRestartTheDaemon(t *testing.T) {
	g := NewWithT(t)
	const checksum = "checksum/configmap-kube-flannel-cfg"
	before, after := build(t, "").node().Spec.Template.Annotations, build(t, "mtu: 1400").node().Spec.Template.Annotations
	g.Expect(before).To(HaveKey(checksum))
	g.Expect(after[checksum]).NotTo(Equal(before[checksum]))
}
