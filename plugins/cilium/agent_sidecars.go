// SPDX-License-Identifier: Apache-2.0

package cilium

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/trellis-network/trellis/plugin/system"
)

// snatToUpstreamDNS masquerades pods' requests to the node's name servers: some
// infrastructures only answer the nodes' own addresses.
func (a agent) snatToUpstreamDNS() corev1.Container {
	var env system.Environment
	env.Set("POD_CIDR", a.in.PodCIDR)
	return a.masquerader("add-snat-rule-to-upstream-dns", snatToUpstreamDNS, env)
}

// snatToOutsideWorld masquerades what pods send to neither pods nor nodes.
func (a agent) snatToOutsideWorld() corev1.Container {
	var env system.Environment
	env.Set("POD_CIDR", a.in.PodCIDR)
	env.Set("NODE_CIDR", a.in.NodeCIDR)
	return a.masquerader("add-snat-rule-to-outside-world", snatToOutsideWorld, env)
}

// masquerader keeps rules in the chain in which the agent masquerades by iptables.
func (a agent) masquerader(name, script string, env system.Environment) corev1.Container {
	return corev1.Container{
		Name:            name,
		Image:           a.image(agentContainer),
		ImagePullPolicy: corev1.PullIfNotPresent,
		Command:         system.Shell(script),
		Env:             env,
		Resources:       corev1.ResourceRequirements{Requests: system.Requests("10m", "50Mi")},
		SecurityContext: mayChangeNetwork(),
	}
}
