// SPDX-License-Identifier: Apache-2.0

package cilium

import (
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/plugin/system"
)

// configReaderName is the name of the Role by which the agent reads ConfigMaps.
const configReaderName = "cilium-config-agent"

// agentAccess is the identity and the rights of what runs on every node.
func (n *network) agentAccess() []plugin.Object {
	role := agentRole
	if n.config.L2Announcements.Enabled {
		role = announcingAgentRole
	}
	return slices.Concat(agentIdentity, role)
}

var (
	agentIdentity = plugin.Constants(slices.Concat(
		[]plugin.Object{system.ServiceAccount(agentName)},
		ofCilium(
			system.ClusterRoleBinding(agentName, system.Account(agentName)),
			system.Role(configReaderName, system.Rule(coreGroup, []string{"configmaps"}, "get", "list", "watch")),
			system.RoleBinding(configReaderName, system.Account(agentName)),
		),
	)...)
	agentRole           = plugin.Constants(ofCilium(system.ClusterRole(agentName, agentRules()...))...)
	announcingAgentRole = plugin.Constants(ofCilium(system.ClusterRole(agentName, append(agentRules(), leaseRule())...))...)
)

// watchedKinds are the kinds of cilium.io that the agent goes by.
var watchedKinds = []string{
	"ciliumloadbalancerippools", "ciliumbgppeeringpolicies", "ciliumbgpnodeconfigs", "ciliumbgpadvertisements",
	"ciliumbgppeerconfigs", "ciliumclusterwideenvoyconfigs", "ciliumclusterwidenetworkpolicies", "ciliumegressgatewaypolicies",
	"ciliumendpoints", "ciliumendpointslices", "ciliumenvoyconfigs", "ciliumidentities", "ciliumlocalredirectpolicies",
	"ciliumnetworkpolicies", "ciliumnodes", "ciliumnodeconfigs", "ciliumcidrgroups", "ciliuml2announcementpolicies",
	"ciliumpodippools", "ciliumgatewayclassconfigs",
}

func agentRules() []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{
		system.Rule(networkingGroup, []string{"networkpolicies"}, "get", "list", "watch"),
		system.Rule(discoveryGroup, []string{"endpointslices"}, "get", "list", "watch"),
		system.Rule(coreGroup, []string{"nodes/status"}, "patch"), // annotate-k8s-node
		system.Rule(coreGroup, []string{"namespaces", "services", "pods", "endpoints", "nodes"}, "get", "list", "watch"),
		system.Rule(extensionsGroup, []string{"customresourcedefinitions"}, "list", "watch", "get"),
		system.Rule(ciliumGroup, watchedKinds, "list", "watch"),
		system.Rule(ciliumGroup, []string{"ciliumidentities", "ciliumendpoints", "ciliumnodes"}, "create"),
		system.Rule(ciliumGroup, []string{"ciliumidentities"}, "update"),
		system.Rule(ciliumGroup, []string{"ciliumendpoints"}, "delete", "get"),
		system.Rule(ciliumGroup, []string{"ciliumendpointslices"}, "deletecollection"),
		system.Rule(ciliumGroup, []string{"ciliumnodes", "ciliumnodes/status"}, "get", "update"),
		system.Rule(ciliumGroup, []string{
			"ciliumendpoints/status", "ciliumendpoints", "ciliuml2announcementpolicies/status", "ciliumbgpnodeconfigs/status",
		}, "patch"),
	}
}

// leaseRule is for the leases by which agents settle who announces a Service.
func leaseRule() rbacv1.PolicyRule {
	return system.Rule(leaseGroup, []string{"leases"}, "create", "get", "update", "list", "delete")
}
