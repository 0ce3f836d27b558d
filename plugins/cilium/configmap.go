// SPDX-License-Identifier: Apache-2.0

package cilium

import (
	"maps"
	"strconv"

	corev1 "k8s.io/api/core/v1"

	"github.com/trellis-network/trellis/plugins/cilium/v1alpha1"
)

// configName is the ConfigMap that agents and operator read. Its key ipamKey states what
// gives pods their addresses.
const (
	configName = "cilium-config"
	ipamKey    = "ipam"
)

// ciliumConfig is what agents and operator are told. A setting that is absent has
// Cilium's own default.
func (n *network) ciliumConfig() *corev1.ConfigMap {
	config := copyOf[*corev1.ConfigMap](fixedConfig()) // manifests/cilium-config.yaml
	for _, each := range ordinaryFields {
		each.tell(n.config, config.Data)
	}
	for _, added := range []settings{
		n.families(), n.routing(), n.masquerading(), n.ipam(), n.services(),
		n.l2Announcements(), n.hubble(), n.encryption(),
	} {
		maps.Copy(config.Data, added)
	}
	return config
}

// settings are what agents and operator are told, by name.
type settings map[string]string

// setIf sets a value on a condition.
func (s settings) setIf(condition bool, key, value string) {
	if condition {
		s[key] = value
	}
}

const yes = "true"

func boolean(value bool) string { return strconv.FormatBool(value) }

func (n *network) families() settings {
	operatorAddress := "127.0.0.1:9234"
	if !hasIPv4(n.config) {
		operatorAddress = "[::1]:9234"
	}
	return settings{
		"enable-ipv4":             boolean(hasIPv4(n.config)),
		"enable-ipv6":             boolean(hasIPv6(n.config)),
		"operator-api-serve-addr": operatorAddress,
	}
}

// routing is how packets get from node to node.
func (n *network) routing() settings {
	s := settings{
		"routing-mode":            "native",
		"auto-direct-node-routes": boolean(createsPodRoutes(n.config)),
	}
	if tunnels(n.config) {
		s["routing-mode"], s["tunnel-protocol"] = "tunnel", string(*n.config.TunnelMode)
	}
	s.setIf(*n.config.IPv4NativeRoutingCIDREnabled, "ipv4-native-routing-cidr", n.in.PodCIDR)
	if range6 := podRangeIPv6(n.in); range6 != "" {
		s.setIf(*n.config.IPv6NativeRoutingCIDREnabled, "ipv6-native-routing-cidr", range6)
	}
	return s
}

// masquerading is which packets leave the cluster with a node's address.
func (n *network) masquerading() settings {
	s := settings{
		"enable-ipv4-masquerade": boolean(*n.config.EnableIPv4Masquerade),
		"enable-ipv6-masquerade": boolean(*n.config.EnableIPv6Masquerade),
	}
	s.setIf(knowsBPFMasquerade(n.config), "enable-bpf-masquerade", boolean(*n.config.EnableBPFMasquerade))
	return s
}

// Ranges that nodes of a network with cluster-pool take theirs from. Users cannot state
// the one of IPv6.
const (
	poolUpdates  = "15s"
	poolMask     = "24"
	poolIPv6     = "fd00::/104"
	poolMaskIPv6 = "120"
)

// ipam is what gives pods their addresses.
func (n *network) ipam() settings {
	mode := ipamMode(n.in)
	s := settings{ipamKey: mode}
	switch mode {
	case kubernetesIPAM:
		s.setIf(hasIPv4(n.config), "k8s-require-ipv4-pod-cidr", yes)
		s.setIf(hasIPv6(n.config), "k8s-require-ipv6-pod-cidr", yes)
	case clusterPoolIPAM:
		s["ipam-cilium-node-update-rate"] = poolUpdates
		if hasIPv4(n.config) {
			s["cluster-pool-ipv4-cidr"], s["cluster-pool-ipv4-mask-size"] = n.in.PodCIDR, poolMask
		}
		if hasIPv6(n.config) {
			s["cluster-pool-ipv6-cidr"], s["cluster-pool-ipv6-mask-size"] = poolIPv6, poolMaskIPv6
		}
	}
	return s
}

// services is how traffic to Services gets to pods.
func (n *network) services() settings {
	replaces := replacesKubeProxy(n.in)
	s := settings{
		"enable-health-check-loadbalancer-ip": boolean(replaces),
		"enable-health-check-nodeport":        boolean(replaces),
	}
	s.setIf(replaces, "kube-proxy-replacement", yes)
	s.setIf(replaces, "kube-proxy-replacement-healthz-bind-address", "0.0.0.0:10256")
	s.setIf(n.in.NodeLocalDNS, "enable-local-redirect-policy", yes)
	return s
}

// l2Announcements is how nodes agree who answers for a Service.
func (n *network) l2Announcements() settings {
	l2 := n.config.L2Announcements
	if !l2.Enabled {
		return nil
	}
	return settings{
		"enable-l2-announcements":         yes,
		"l2-announcements-lease-duration": l2.LeaseDuration.Duration.String(),
		"l2-announcements-renew-deadline": l2.LeaseRenewDeadline.Duration.String(),
		"l2-announcements-retry-period":   l2.LeaseRetryPeriod.Duration.String(),
	}
}

// flowLabels are what Hubble's metrics tell of who talks to whom by HTTP.
const flowLabels = "source_ip,source_namespace,source_workload,destination_ip,destination_namespace,destination_workload,traffic_direction"

// hubble is what agents tell about flows.
func (n *network) hubble() settings {
	if !n.config.Hubble.Enabled {
		return nil
	}
	return settings{
		"enable-hubble":                    yes,
		"hubble-socket-path":               "/var/run/cilium/hubble.sock",
		"hubble-listen-address":            ":4244",
		"hubble-metrics-server":            ":9091",
		"hubble-metrics-server-enable-tls": "false",
		"hubble-metrics":                   "dns drop tcp flow port-distribution icmp httpV2:labelsContext=" + flowLabels,
	}
}

// encryption is what of the traffic between nodes is encrypted.
func (n *network) encryption() settings {
	encryption, s := n.config.Encryption, settings{}
	s.setIf(encryption.NodeToNodeEnabled, "encrypt-node", yes)
	if n.config.Encryption.Mode != v1alpha1.WireGuard {
		return s
	}
	s["enable-wireguard"], s["wireguard-persistent-keepalive"] = yes, "0s"
	if encryption.StrictMode {
		s[strictModeKey], s[strictModeCIDRKey] = yes, n.in.PodCIDR
		s[strictModeRemoteNodesKey] = boolean(letsRemoteNodesInTheClear(n.config, n.in))
	}
	return s
}
