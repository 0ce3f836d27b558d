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
type ciliumConfig struct{ *network }

func (c ciliumConfig) configMap() *corev1.ConfigMap {
	config := copyOf[*corev1.ConfigMap](fixedConfig()) // manifests/cilium-config.yaml
	for _, each := range ordinaryFields {
		each.tell(c.config, config.Data)
	}
	for _, added := range []settings{
		c.families(), c.routing(), c.masquerading(), c.ipam(), c.services(),
		c.l2Announcements(), c.hubble(), c.encryption(),
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

func (c ciliumConfig) families() settings {
	operatorAddress := "127.0.0.1:9234"
	if !hasIPv4(c.config) {
		operatorAddress = "[::1]:9234"
	}
	return settings{
		"enable-ipv4":             boolean(hasIPv4(c.config)),
		"enable-ipv6":             boolean(hasIPv6(c.config)),
		"operator-api-serve-addr": operatorAddress,
	}
}

// routing is how packets get from node to node.
func (c ciliumConfig) routing() settings {
	s := settings{
		"routing-mode":            "native",
		"auto-direct-node-routes": boolean(createsPodRoutes(c.config)),
	}
	if tunnels(c.config) {
		s["routing-mode"], s["tunnel-protocol"] = "tunnel", string(*c.config.TunnelMode)
	}
	s.setIf(*c.config.IPv4NativeRoutingCIDREnabled, "ipv4-native-routing-cidr", c.in.PodCIDR)
	if range6 := podRangeIPv6(c.in); range6 != "" {
		s.setIf(*c.config.IPv6NativeRoutingCIDREnabled, "ipv6-native-routing-cidr", range6)
	}
	return s
}

// masquerading is which packets leave the cluster with a node's address.
func (c ciliumConfig) masquerading() settings {
	s := settings{
		"enable-ipv4-masquerade": boolean(*c.config.EnableIPv4Masquerade),
		"enable-ipv6-masquerade": boolean(*c.config.EnableIPv6Masquerade),
	}
	s.setIf(knowsBPFMasquerade(c.config), "enable-bpf-masquerade", boolean(*c.config.EnableBPFMasquerade))
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
func (c ciliumConfig) ipam() settings {
	mode := ipamMode(c.in)
	s := settings{ipamKey: mode}
	switch mode {
	case kubernetesIPAM:
		s.setIf(hasIPv4(c.config), "k8s-require-ipv4-pod-cidr", yes)
		s.setIf(hasIPv6(c.config), "k8s-require-ipv6-pod-cidr", yes)
	case clusterPoolIPAM:
		s["ipam-cilium-node-update-rate"] = poolUpdates
		if hasIPv4(c.config) {
			s["cluster-pool-ipv4-cidr"], s["cluster-pool-ipv4-mask-size"] = c.in.PodCIDR, poolMask
		}
		if hasIPv6(c.config) {
			s["cluster-pool-ipv6-cidr"], s["cluster-pool-ipv6-mask-size"] = poolIPv6, poolMaskIPv6
		}
	}
	return s
}

// services is how traffic to Services gets to pods.
func (c ciliumConfig) services() settings {
	replaces := replacesKubeProxy(c.in)
	s := settings{
		"enable-health-check-loadbalancer-ip": boolean(replaces),
		"enable-health-check-nodeport":        boolean(replaces),
	}
	s.setIf(replaces, "kube-proxy-replacement", yes)
	s.setIf(replaces, "kube-proxy-replacement-healthz-bind-address", "0.0.0.0:10256")
	s.setIf(c.in.NodeLocalDNS, "enable-local-redirect-policy", yes)
	return s
}

// l2Announcements is how nodes agree who answers for a Service.
func (c ciliumConfig) l2Announcements() settings {
	l2 := c.config.L2Announcements
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
func (c ciliumConfig) hubble() settings {
	if !c.config.Hubble.Enabled {
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
func (c ciliumConfig) encryption() settings {
	encryption, s := c.config.Encryption, settings{}
	s.setIf(encryption.NodeToNodeEnabled, "encrypt-node", yes)
	if c.config.Encryption.Mode != v1alpha1.WireGuard {
		return s
	}
	s["enable-wireguard"], s["wireguard-persistent-keepalive"] = yes, "0s"
	if encryption.StrictMode {
		s[strictModeKey], s[strictModeCIDRKey] = yes, c.in.PodCIDR
		s[strictModeRemoteNodesKey] = boolean(letsRemoteNodesInTheClear(c.config, c.in))
	}
	return s
}
