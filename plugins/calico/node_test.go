// SPDX-License-Identifier: Apache-2.0

package calico_test

import (
	"slices"
	"testing"

	. "github.com/onsi/gomega"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	"github.com/trellis-network/trellis/plugin"
)

func withKubeProxy(enabled bool, mode corev1beta1.ProxyMode) option {
	return func(facts *plugin.Input) { facts.KubeProxy = plugin.KubeProxy{Enabled: enabled, Mode: mode} }
}

// absent stands for a variable that is not there.
const absent = "(absent)"

func TestEnvironmentOfCalicoNode(t *testing.T) {
	const (
		ebpf     = "ebpfDataplane: {enabled: true}"
		cleanup  = "FELIX_BPFKUBEPROXYIPTABLESCLEANUPENABLED"
		misspelt = "FELIX_BPFKUBEPROXYHEALTZPORT"
		health   = "FELIX_BPFKUBEPROXYHEALTHZPORT"
	)
	for _, test := range []struct {
		name, config string
		option       option
		want         map[string]string
	}{
		{name: "of every network", want: map[string]string{
			"USE_POD_CIDR": "true", "FELIX_PROMETHEUSMETRICSENABLED": "true", "FELIX_PROMETHEUSMETRICSPORT": "9091",
			"DATASTORE_TYPE": "kubernetes", "FELIX_TYPHAK8SSERVICENAME": "key calico-config/typha_service_name", "WAIT_FOR_DATASTORE": "true",
			"NODENAME": "field spec.nodeName", "CALICO_NETWORKING_BACKEND": "key calico-config/calico_backend", "CLUSTER_TYPE": "k8s,bgp",
			"IP": "autodetect", "CALICO_IPV4POOL_IPIP": "Always", "CALICO_IPV4POOL_CIDR": podCIDR,
			"IP_AUTODETECTION_METHOD": "cidr=" + nodeCIDR, "FELIX_IPV6SUPPORT": "false",
			"FELIX_IPINIPMTU": "key calico-config/veth_mtu", "FELIX_VXLANMTU": "key calico-config/veth_mtu", "FELIX_WIREGUARDMTU": "key calico-config/veth_mtu",
			"CALICO_DISABLE_FILE_LOGGING": "true", "FELIX_DEFAULTENDPOINTTOHOSTACTION": "ACCEPT", "FELIX_IPINIPENABLED": "true",
			"FELIX_BPFENABLED": "false", cleanup: "false", "FELIX_HEALTHENABLED": "true", "FELIX_NATPORTRANGE": "32768:65535",
			"CALICO_MANAGE_CNI": "true",
			misspelt:            absent, health: absent, "FELIX_NFTABLESMODE": absent, "FELIX_SERVICELOOPPREVENTION": absent,
			"FELIX_CHAININSERTMODE": absent, "FELIX_WIREGUARDENABLED": absent, "FELIX_WIREGUARDENABLEDV6": absent,
			"IP6": absent, "NO_DEFAULT_POOLS": absent, "CALICO_ROUTER_ID": absent,
		}},
		{"eBPF beside kube-proxy", ebpf, withKubeProxy(true, ""),
			map[string]string{"FELIX_BPFENABLED": "true", misspelt: "10257", health: "10257", cleanup: "false"}},
		{"eBPF instead of kube-proxy", ebpf, withKubeProxy(false, ""),
			map[string]string{"FELIX_BPFENABLED": "true", misspelt: absent, health: absent, cleanup: "true"}},
		{"kube-proxy with nftables", "", withKubeProxy(true, corev1beta1.ProxyModeNFTables),
			map[string]string{"FELIX_NFTABLESMODE": "Enabled"}},
		{"kube-proxy with IPVS", "", withKubeProxy(true, corev1beta1.ProxyModeIPVS),
			map[string]string{"FELIX_NFTABLESMODE": absent}},
		{"WireGuard", "wireguardEncryption: true", nil,
			map[string]string{"FELIX_WIREGUARDENABLED": "true", "FELIX_WIREGUARDENABLEDV6": "true"}},
		{"service loop prevention", "serviceLoopPrevention: Reject", nil,
			map[string]string{"FELIX_SERVICELOOPPREVENTION": "Reject"}},
		{"an address that Calico finds by itself", "ipv4: {autoDetectionMethod: interface=eth.*}", withNodes("", nil),
			map[string]string{"IP_AUTODETECTION_METHOD": "interface=eth.*"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			options := []option{}
			if test.option != nil {
				options = append(options, test.option)
			}
			env := build(t, test.config, options...).env("calico-node")
			for name, value := range test.want {
				if value == absent {
					g.Expect(env).NotTo(HaveKey(name))
				} else {
					g.Expect(env).To(HaveKeyWithValue(name, value))
				}
			}
		})
	}
}

func TestVariablesOfAVXLANOverlayComeLast(t *testing.T) {
	g := NewWithT(t)
	order := func(config string, options ...option) []string {
		var names []string
		for _, variable := range build(t, config, options...).container("calico-node").Env {
			names = append(names, variable.Name)
		}
		return names
	}
	every := order("")
	g.Expect(every[0] + " " + every[len(every)-1]).To(Equal("USE_POD_CIDR CALICO_MANAGE_CNI"))
	overlay := order("{overlay: {enabled: true}, vxlan: {enabled: true}}")
	g.Expect(overlay[len(overlay)-3:]).To(Equal([]string{"CALICO_MANAGE_CNI", "CALICO_IPV4POOL_IPIP", "FELIX_VXLANENABLED"}))
	both := order("", dualStack, withNodes(nodeCIDR, []string{nodeCIDR, "2001:db8:2::/64"}))
	first := slices.Index(both, "IP")
	g.Expect(both[first : first+10]).To(Equal([]string{
		"IP", "CALICO_IPV4POOL_IPIP", "CALICO_IPV4POOL_CIDR", "IP_AUTODETECTION_METHOD",
		"IP6", "CALICO_IPV6POOL_VXLAN", "CALICO_IPV6POOL_CIDR", "IP6_AUTODETECTION_METHOD", "CALICO_IPV6POOL_NAT_OUTGOING", "CALICO_ROUTER_ID",
	}))
}

func TestMTUReachesTunnelsAndPods(t *testing.T) {
	g := NewWithT(t)
	for _, spelling := range []string{"1440", "+1440", "0001440"} {
		n := build(t, `vethMTU: "`+spelling+`"`)
		g.Expect(n.data("calico-config")).To(HaveKeyWithValue("veth_mtu", "1440"), spelling)
		g.Expect(n.env("install-cni")).To(HaveKeyWithValue("CNI_MTU", "key calico-config/veth_mtu"))
	}
}

func TestNodesRestartWhenTheirConfigMapChanges(t *testing.T) {
	g := NewWithT(t)
	sum := func(config string) string {
		return build(t, config).node().Spec.Template.Annotations["checksum/configmap-calico"]
	}
	g.Expect(sum("")).To(HaveLen(64))
	g.Expect(sum("")).To(Equal(sum("")))
	g.Expect(sum("")).NotTo(Equal(sum(`vethMTU: "1440"`)))
}

func TestBirdExporterStandsBesideCalicoNode(t *testing.T) {
	g := NewWithT(t)
	off, on := build(t, ""), build(t, "birdExporter: {enabled: true}")
	g.Expect(names(off.node().Spec.Template.Spec.Containers)).NotTo(ContainElement("bird-exporter"))
	g.Expect(off.has("Service", "calico-bird-monitoring")).To(BeFalse())
	g.Expect(on.container("bird-exporter").Args).To(Equal([]string{
		"-format.new=true", "-bird.socket=/var/run/calico/bird.ctl", "-bird.ipv6=false", "-web.listen-address=:9094"}))
	g.Expect(on.has("Service", "calico-bird-monitoring")).To(BeTrue())
}

func TestTheEnsurerDetectsAddressesAsCalicoNodeDoes(t *testing.T) {
	g := NewWithT(t)
	n := build(t, "")
	g.Expect(n.env("network-unavailable-condition-ensurer")).To(Equal(map[string]string{
		"CALICO_NETWORKING_BACKEND": "key calico-config/calico_backend", "IP": "autodetect", "IP_AUTODETECTION_METHOD": "cidr=" + nodeCIDR,
		"NO_DEFAULT_POOLS": "true", "NODENAME": "field spec.nodeName",
	}))
}

func TestSNATContainerKnowsThePodsRange(t *testing.T) {
	g := NewWithT(t)
	n := build(t, "overlay: {enabled: false}")
	g.Expect(n.env("add-snat-rule-to-upstream-dns")).To(Equal(map[string]string{"POD_CIDR": podCIDR}))
}

func TestEveryVolumeIsMountedAndEveryMountHasAVolume(t *testing.T) {
	for _, config := range []string{"", "ebpfDataplane: {enabled: true}", "overlay: {enabled: false}"} {
		for _, gates := range []map[string]bool{nil, {"NonPrivilegedCalicoNode": true}} {
			g := NewWithT(t)
			n := build(t, config, func(f *plugin.Input) { f.FeatureGates = gates })
			pod := n.node().Spec.Template.Spec
			volumes, mounted := map[string]bool{}, map[string]bool{}
			for _, volume := range pod.Volumes {
				volumes[volume.Name] = true
			}
			for _, container := range append(pod.InitContainers, pod.Containers...) {
				for _, mount := range container.VolumeMounts {
					mounted[mount.Name] = true
				}
			}
			g.Expect(mounted).To(Equal(volumes))
		}
	}
}
