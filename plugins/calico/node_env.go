// SPDX-License-Identifier: Apache-2.0

package calico

import (
	"strconv"

	"github.com/trellis-network/trellis/plugin/system"
	"github.com/trellis-network/trellis/plugins/calico/v1alpha1"
)

// kubeProxyHealthPort is where Felix answers health checks for its built-in kube-proxy
// while the real kube-proxy runs, which has the usual port.
const kubeProxyHealthPort = "10257"

// mainInterfaces are Calico's own default without interfaces named enP…, the virtual
// functions beside a node's main interfaces: an eBPF program on them breaks the node.
const mainInterfaces = `^((en|wl|ww|sl|ib)[opsx].*|(eth|wlan|wwan).*|tunl0$|vxlan.calico$|wireguard.cali$|wg-v6.cali$)`

// nodeEnv makes the environment of container calico-node. It is all of calico-node's
// configuration, besides FelixConfigurations, which belong to the user.
type nodeEnv struct{ *network }

func (e nodeEnv) variables() system.Environment {
	var env system.Environment
	env.SetIf(usesHostLocal(e.config), "USE_POD_CIDR", "true")
	env.Set("FELIX_PROMETHEUSMETRICSENABLED", "true")
	env.Set("FELIX_PROMETHEUSMETRICSPORT", "9091")
	env.Set("DATASTORE_TYPE", "kubernetes")
	env.FromConfigMap("FELIX_TYPHAK8SSERVICENAME", configName, typhaServiceKey)
	env.Set("WAIT_FOR_DATASTORE", "true")
	env.FromField("NODENAME", "spec.nodeName")
	env.FromConfigMap("CALICO_NETWORKING_BACKEND", configName, backendKey)
	env.Set("CLUSTER_TYPE", "k8s,bgp")
	e.ipv4(&env)
	e.ipv6(&env)
	env.Set("FELIX_IPV6SUPPORT", strconv.FormatBool(hasIPv6(e.config)))
	env.FromConfigMap("FELIX_IPINIPMTU", configName, mtuKey)
	env.FromConfigMap("FELIX_VXLANMTU", configName, mtuKey)
	env.FromConfigMap("FELIX_WIREGUARDMTU", configName, mtuKey)
	env.Set("CALICO_DISABLE_FILE_LOGGING", "true")
	// Felix would otherwise drop what a pod sends to its own node.
	env.Set("FELIX_DEFAULTENDPOINTTOHOSTACTION", "ACCEPT")
	// With a VXLAN overlay Felix reads from the address pool whether to use IP-in-IP.
	env.SetIf(!vxlanOverlay(e.config), "FELIX_IPINIPENABLED", strconv.FormatBool(felixUsesIPIP(e.config)))
	e.dataplane(&env)
	env.Set("FELIX_HEALTHENABLED", "true")
	// Keeps the source ports of masqueraded connections out of the NodePort range.
	env.Set("FELIX_NATPORTRANGE", "32768:65535")
	if prevention := e.config.ServiceLoopPrevention; prevention != nil {
		env.Set("FELIX_SERVICELOOPPREVENTION", string(*prevention))
	}
	env.SetIf(usesNFTables(e.in), "FELIX_NFTABLESMODE", "Enabled")
	// The masquerading rule must stay before Felix's rules.
	env.SetIf(e.config.SnatToUpstreamDNS.Enabled, "FELIX_CHAININSERTMODE", "Append")
	env.SetIf(*e.config.WireguardEncryption, "FELIX_WIREGUARDENABLED", "true")
	env.SetIf(*e.config.WireguardEncryption, "FELIX_WIREGUARDENABLEDV6", "true")
	// The CNI plugin's token expires; calico-node renews it.
	env.Set("CALICO_MANAGE_CNI", "true")
	// Calico would otherwise make a pool with IP-in-IP.
	env.SetIf(vxlanOverlay(e.config), "CALICO_IPV4POOL_IPIP", string(v1alpha1.Never))
	env.SetIf(vxlanOverlay(e.config), "FELIX_VXLANENABLED", "true")
	return env
}

// ipv4 sets how the node finds its IPv4 address, and the pool that calico-node makes if
// there is none.
func (e nodeEnv) ipv4(env *system.Environment) {
	if !hasIPv4(e.config) {
		env.Set("IP", "none")
		return
	}
	pool := "CALICO_IPV4POOL_IPIP"
	if poolIs(e.config, v1alpha1.PoolVXLAN) {
		pool = "CALICO_IPV4POOL_VXLAN"
	}
	env.Set("IP", "autodetect")
	env.Set(pool, string(*e.config.IPv4.Mode))
	env.Set("CALICO_IPV4POOL_CIDR", podRangeIPv4(e.in))
	env.SetKnown("IP_AUTODETECTION_METHOD", e.config.IPv4.AutoDetectionMethod)
}

// ipv6 is the same for IPv6.
func (e nodeEnv) ipv6(env *system.Environment) {
	if !hasIPv6(e.config) {
		return
	}
	env.Set("IP6", "autodetect")
	env.Set("CALICO_IPV6POOL_VXLAN", string(*e.config.IPv6.Mode))
	env.Set("CALICO_IPV6POOL_CIDR", podRangeIPv6(e.in))
	env.SetKnown("IP6_AUTODETECTION_METHOD", e.config.IPv6.AutoDetectionMethod)
	env.Set("CALICO_IPV6POOL_NAT_OUTGOING", strconv.FormatBool(*e.config.IPv6.SourceNATEnabled))
	// By default BIRD takes its ID from the node's IPv4 address, which may be absent.
	env.Set("CALICO_ROUTER_ID", "hash")
}

// dataplane sets how Felix enforces policies, and whether it replaces kube-proxy.
func (e nodeEnv) dataplane(env *system.Environment) {
	ebpf, kubeProxy := e.config.EBPFDataplane.Enabled, e.in.KubeProxy
	env.Set("FELIX_BPFENABLED", strconv.FormatBool(ebpf))
	// Calico before 3.30.5 knows the port by the misspelt name only.
	env.SetIf(ebpf && kubeProxy.Enabled, "FELIX_BPFKUBEPROXYHEALTZPORT", kubeProxyHealthPort)
	env.SetIf(ebpf && kubeProxy.Enabled, "FELIX_BPFKUBEPROXYHEALTHZPORT", kubeProxyHealthPort)
	env.Set("FELIX_BPFKUBEPROXYIPTABLESCLEANUPENABLED", strconv.FormatBool(!kubeProxy.Enabled))
	env.SetIf(ebpf && e.in.Infrastructure.VirtualFunctions, "FELIX_BPFDATAIFACEPATTERN", mainInterfaces)
}
