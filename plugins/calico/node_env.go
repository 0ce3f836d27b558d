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
	n.addressEnv(&env)
	n.poolEnv(&env)
	env.set("FELIX_IPV6SUPPORT", "false")
	env.fromConfig("FELIX_IPINIPMTU", mtuKey)
	env.fromConfig("FELIX_VXLANMTU", mtuKey)
	env.fromConfig("FELIX_WIREGUARDMTU", mtuKey)
	env.set("CALICO_DISABLE_FILE_LOGGING", "true")
	// Felix would otherwise drop what a pod sends to its own node.
	env.set("FELIX_DEFAULTENDPOINTTOHOSTACTION", "ACCEPT")
	n.encapsulationEnv(&env)
	n.dataplaneEnv(&env)
	env.set("FELIX_HEALTHENABLED", "true")
	// Keeps the source ports of masqueraded connections out of the NodePort range.
	env.set("FELIX_NATPORTRANGE", "32768:65535")
	if prevention := n.config.ServiceLoopPrevention; prevention != nil {
		env.set("FELIX_SERVICELOOPPREVENTION", string(*prevention))
	}
	// The rule that masquerades has to stay before Felix's own ones.
	env.setIf(n.config.SnatToUpstreamDNS.Enabled, "FELIX_CHAININSERTMODE", "Append")
	env.setIf(*n.config.WireguardEncryption, "FELIX_WIREGUARDENABLED", "true")
	env.setIf(*n.config.WireguardEncryption, "FELIX_WIREGUARDENABLEDV6", "true")
	// The CNI plugin's token expires; calico-node renews it.
	env.set("CALICO_MANAGE_CNI", "true")
	return env
}

// addressEnv says how the node finds its own address.
func (n *network) addressEnv(env *environment) {
	env.set("IP", "autodetect")
	if method := n.config.IPv4.AutoDetectionMethod; method != nil {
		env.set("IP_AUTODETECTION_METHOD", *method)
	}
}

// poolEnv describes the address pool that calico-node makes if there is none.
func (n *network) poolEnv(env *environment) {
	env.set("CALICO_IPV4POOL_CIDR", n.facts.PodCIDR)
	mode := string(*n.config.IPv4.Mode)
	if *n.config.IPv4.Pool == v1alpha1.PoolVXLAN {
		env.setIf(vxlanOverlay(n.config), "CALICO_IPV4POOL_IPIP", string(v1alpha1.Never))
		env.set("CALICO_IPV4POOL_VXLAN", mode)
		return
	}
	env.set("CALICO_IPV4POOL_IPIP", mode)
}

// encapsulationEnv says which tunnels Felix sets up. With a VXLAN overlay it
// finds out about IP-in-IP from the address pool.
func (n *network) encapsulationEnv(env *environment) {
	if vxlanOverlay(n.config) {
		env.set("FELIX_VXLANENABLED", "true")
		return
	}
	env.set("FELIX_IPINIPENABLED", strconv.FormatBool(felixUsesIPIP(n.config)))
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
	env.setIf(kubeProxy.Enabled && kubeProxy.Mode == corev1beta1.ProxyModeNFTables, "FELIX_NFTABLESMODE", "Enabled")
}
