// SPDX-License-Identifier: Apache-2.0

package cilium

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/trellis-network/trellis/plugin/system"
)

// snatToUpstreamDNS masquerades pods' requests to the node's name servers: some
// infrastructures only answer the nodes' own addresses.
func (n *network) snatToUpstreamDNS() corev1.Container {
	var env system.Environment
	env.Set("POD_CIDR", n.in.PodCIDR)
	return n.masquerader("add-snat-rule-to-upstream-dns", snatToUpstreamDNS, env)
}

// snatToOutsideWorld masquerades what pods send to neither pods nor nodes.
func (n *network) snatToOutsideWorld() corev1.Container {
	var env system.Environment
	env.Set("POD_CIDR", n.in.PodCIDR)
	env.Set("NODE_CIDR", n.in.NodeCIDR)
	return n.masquerader("add-snat-rule-to-outside-world", snatToOutsideWorld, env)
}

// masquerader keeps rules in the chain in which the agent masquerades by iptables.
func (n *network) masquerader(name, script string, env system.Environment) corev1.Container {
	return corev1.Container{
		Name:            name,
		Image:           n.image(agentContainer),
		ImagePullPolicy: corev1.PullIfNotPresent,
		Command:         system.Shell(script),
		Env:             env,
		Resources:       corev1.ResourceRequirements{Requests: system.Requests("10m", "50Mi")},
		SecurityContext: mayChangeNetwork(),
	}
}
