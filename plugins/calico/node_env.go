// SPDX-License-Identifier: Apache-2.0

package calico

import (
	"strconv"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	"github.com/trellis-network/trellis/plugins/calico/v1alpha1"
)

// The environment of container calico-node. It is all that calico-node is told,
// besides FelixConfigurations which belong to the user.

// kubeProxyHealthPort is where Felix answers health checks for the kube-proxy
// inside it, as long as the real one runs and has the usual port.
const kubeProxyHealthPort = "10257"

// mainInterfaces are Calico's own default but for interfaces named enP…, the virtual
// functions beside a node's main ones: an eBPF program on them breaks the node.
const mainInterfaces = `^((en|wl|ww|sl|ib)[opsx].*|(eth|wlan|wwan).*|tunl0$|vxlan.calico$|wireguard.cali$|wg-v6.cali$)`

func (n *network) nodeEnv() environment {
	var env environment
	env.setIf(usesHostLocal(n.config), "USE_POD_CIDR", "true")
	env.set("FELIX_PROMETHEUSMETRICSENABLED", "true")
	env.set("FELIX_PROMETHEUSMETRICSPORT", strconv.Itoa(felixMetricsPort))
	env.set("DATASTORE_TYPE", datastore)
	env.fromConfig("FELIX_TYPHAK8SSERVICENAME", typhaServiceKey)
	env.set("WAIT_FOR_DATASTORE", "true")
	env.nodeName("NODENAME")
	env.fromConfig("CALICO_NETWORKING_BACKEND", backendKey)
	env.set("CLUSTER_TYPE", "k8s,bgp")
	n.ipv4Env(&env)
	n.ipv6Env(&env)
	env.set("FELIX_IPV6SUPPORT", strconv.FormatBool(hasIPv6(n.config)))
	env.fromConfig("FELIX_IPINIPMTU", mtuKey)
	env.fromConfig("FELIX_VXLANMTU", mtuKey)
	env.fromConfig("FELIX_WIREGUARDMTU", mtuKey)
	env.set("CALICO_DISABLE_FILE_LOGGING", "true")
	// Felix would otherwise drop what a pod sends to its own node.
	env.set("FELIX_DEFAULTENDPOINTTOHOSTACTION", "ACCEPT")
	// With a VXLAN overlay Felix finds out about IP-in-IP from the address pool.
	env.setIf(!vxlanOverlay(n.config), "FELIX_IPINIPENABLED", strconv.FormatBool(felixUsesIPIP(n.config)))
	n.dataplaneEnv(&env)
	env.set("FELIX_HEALTHENABLED", "true")
	// Keeps the source ports of masqueraded connections out of the NodePort range.
	env.set("FELIX_NATPORTRANGE", "32768:65535")
	if prevention := n.config.ServiceLoopPrevention; prevention != nil {
		env.set("FELIX_SERVICELOOPPREVENTION", string(*prevention))
	}
	env.setIf(n.facts.KubeProxy.Enabled && n.facts.KubeProxy.Mode == corev1beta1.ProxyModeNFTables, "FELIX_NFTABLESMODE", "Enabled")
	// The rule that masquerades has to stay before Felix's own ones.
	env.setIf(n.config.SnatToUpstreamDNS.Enabled, "FELIX_CHAININSERTMODE", "Append")
	env.setIf(*n.config.WireguardEncryption, "FELIX_WIREGUARDENABLED", "true")
	env.setIf(*n.config.WireguardEncryption, "FELIX_WIREGUARDENABLEDV6", "true")
	// The CNI plugin's token expires; calico-node renews it.
	env.set("CALICO_MANAGE_CNI", "true")
	// Calico would otherwise make a pool with IP-in-IP.
	env.setIf(vxlanOverlay(n.config), "CALICO_IPV4POOL_IPIP", string(v1alpha1.Never))
	env.setIf(vxlanOverlay(n.config), "FELIX_VXLANENABLED", "true")
	return env
}

// ipv4Env says how the node finds its IPv4 address, and describes the pool that
// calico-node makes if there is none.
func (n *network) ipv4Env(env *environment) {
	if !hasIPv4(n.config) {
		env.set("IP", "none")
		return
	}
	pool := "CALICO_IPV4POOL_IPIP"
	if poolIs(n.config, v1alpha1.PoolVXLAN) {
		pool = "CALICO_IPV4POOL_VXLAN"
	}
	env.set("IP", "autodetect")
	env.set(pool, string(*n.config.IPv4.Mode))
	env.set("CALICO_IPV4POOL_CIDR", n.facts.PodCIDR)
	env.setKnown("IP_AUTODETECTION_METHOD", n.config.IPv4.AutoDetectionMethod)
}

// ipv6Env is the same for IPv6.
func (n *network) ipv6Env(env *environment) {
	if !hasIPv6(n.config) {
		return
	}
	env.set("IP6", "autodetect")
	env.set("CALICO_IPV6POOL_VXLAN", string(*n.config.IPv6.Mode))
	env.set("CALICO_IPV6POOL_CIDR", podRangeIPv6(n.facts))
	env.setKnown("IP6_AUTODETECTION_METHOD", n.config.IPv6.AutoDetectionMethod)
	env.set("CALICO_IPV6POOL_NAT_OUTGOING", strconv.FormatBool(*n.config.IPv6.SourceNATEnabled))
	// BIRD takes its ID from the node's IPv4 address, which there may not be.
	env.set("CALICO_ROUTER_ID", "hash")
}

// dataplaneEnv says how Felix enforces policies and whether it stands in for
// kube-proxy.
func (n *network) dataplaneEnv(env *environment) {
	ebpf, kubeProxy := n.config.EBPFDataplane.Enabled, n.facts.KubeProxy
	env.set("FELIX_BPFENABLED", strconv.FormatBool(ebpf))
	// Calico before 3.30.5 knows the port by the misspelt name only.
	env.setIf(ebpf && kubeProxy.Enabled, "FELIX_BPFKUBEPROXYHEALTZPORT", kubeProxyHealthPort)
	env.setIf(ebpf && kubeProxy.Enabled, "FELIX_BPFKUBEPROXYHEALTHZPORT", kubeProxyHealthPort)
	env.set("FELIX_BPFKUBEPROXYIPTABLESCLEANUPENABLED", strconv.FormatBool(!kubeProxy.Enabled))
	env.setIf(ebpf && n.facts.Infrastructure.VirtualFunctions, "FELIX_BPFDATAIFACEPATTERN", mainInterfaces)
}
