// SPDX-License-Identifier: Apache-2.0

package cilium

import (
	"strconv"

	corev1 "k8s.io/api/core/v1"
)

// configName is the ConfigMap that agents and operator read. Its key ipamKey states what
// gives pods their addresses.
const (
	configName = "cilium-config"
	ipamKey    = "ipam"
)

// ciliumConfig makes ConfigMap cilium-config. A setting that is absent has Cilium's own
// default.
type ciliumConfig struct{ *network }

func (c ciliumConfig) configMap() *corev1.ConfigMap {
	config := copyOf[*corev1.ConfigMap](fixedConfig()) // manifests/cilium-config.yaml
	for _, each := range configFields {
		if each.configure != nil {
			each.configure(c, config.Data)
		}
	}
	c.ipam(config.Data)
	c.services(config.Data)
	if c.in.SharesCluster {
		c.leaveOthersAlone(config.Data)
	}
	return config
}

// leaveOthersAlone keeps cilium-operator from tainting nodes whose agent leaves, where nothing would take the taint
// away, and from restarting the DNS servers on nodes with another network.
func (c ciliumConfig) leaveOthersAlone(s settings) {
	s["set-cilium-node-taints"] = "false"
	s["unmanaged-pod-watcher-interval"] = "0s"
}

// settings are what cilium-config contains, by key.
type settings map[string]string

// setIf sets a value on a condition.
func (s settings) setIf(condition bool, key, value string) {
	if condition {
		s[key] = value
	}
}

const yes = "true"

func boolean(value bool) string { return strconv.FormatBool(value) }

// Ranges that nodes of a network with cluster-pool take theirs from. Users cannot state
// the one of IPv6.
const (
	poolUpdates  = "15s"
	poolMask     = "24"
	poolIPv6     = "fd00::/104"
	poolMaskIPv6 = "120"
)

// ipam adds what gives pods their addresses, which no field decides.
func (c ciliumConfig) ipam(s settings) {
	mode := ipamMode(c.in)
	s[ipamKey] = mode
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
}

// services adds whether agents implement Services, which the Shoot decides.
func (c ciliumConfig) services(s settings) {
	replaces := replacesKubeProxy(c.in)
	s["enable-health-check-loadbalancer-ip"] = boolean(replaces)
	s["enable-health-check-nodeport"] = boolean(replaces)
	s.setIf(replaces, "kube-proxy-replacement", yes)
	s.setIf(replaces, "kube-proxy-replacement-healthz-bind-address", "0.0.0.0:10256")
	s.setIf(c.in.NodeLocalDNS, "enable-local-redirect-policy", yes)
}
