// SPDX-License-Identifier: Apache-2.0

package cilium

import (
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/plugin/system"
)

var operatorAccess = plugin.Constants(slices.Concat(
	[]plugin.Object{system.ServiceAccount(operatorName)},
	ofCilium(
		system.ClusterRole(operatorName, operatorRules()...),
		system.ClusterRoleBinding(operatorName, system.Account(operatorName)),
	),
)...)

// operatorKinds are the kinds whose definitions the operator makes and raises.
var operatorKinds = []string{
	"ciliumloadbalancerippools", "ciliumbgpclusterconfigs", "ciliumbgppeerconfigs", "ciliumbgpadvertisements",
	"ciliumbgpnodeconfigs", "ciliumbgpnodeconfigoverrides", "ciliumclusterwideenvoyconfigs",
	"ciliumclusterwidenetworkpolicies", "ciliumegressgatewaypolicies", "ciliumendpoints", "ciliumendpointslices",
	"ciliumenvoyconfigs", "ciliumidentities", "ciliumlocalredirectpolicies", "ciliumnetworkpolicies", "ciliumnodes",
	"ciliumnodeconfigs", "ciliumcidrgroups", "ciliuml2announcementpolicies", "ciliumpodippools", "ciliumgatewayclassconfigs",
}

func operatorRules() []rbacv1.PolicyRule {
	return slices.Concat(operatorClusterRules(), operatorCiliumRules(), definitionRules(), []rbacv1.PolicyRule{
		system.Rule(ciliumGroup, []string{
			"ciliumloadbalancerippools", "ciliumpodippools", "ciliumbgppeeringpolicies", "ciliumbgpclusterconfigs",
			"ciliumbgpnodeconfigoverrides", "ciliumbgppeerconfigs",
		}, "get", "list", "watch"),
		system.Rule(ciliumGroup, []string{"ciliumpodippools"}, "create"),
		system.Rule(ciliumGroup, []string{"ciliumloadbalancerippools/status"}, "patch"),
		system.Rule(leaseGroup, []string{"leases"}, "create", "get", "update"),
	})
}

// operatorClusterRules are for what is Kubernetes' own.
func operatorClusterRules() []rbacv1.PolicyRule {
	config := system.Rule(coreGroup, []string{"configmaps"}, "patch")
	config.ResourceNames = []string{configName}
	return []rbacv1.PolicyRule{
		system.Rule(coreGroup, []string{"pods"}, "get", "list", "watch", "delete"), // it restarts pods that Cilium does not manage
		config,
		system.Rule(coreGroup, []string{"nodes"}, "list", "watch"),
		system.Rule(coreGroup, []string{"nodes", "nodes/status"}, "patch"), // the taint and the condition of a node without agent
		system.Rule(discoveryGroup, []string{"endpointslices"}, "get", "list", "watch"),
		system.Rule(coreGroup, []string{"services/status"}, "update", "patch"),
		system.Rule(coreGroup, []string{"namespaces"}, "get", "list", "watch"),
		system.Rule(coreGroup, []string{"services", "endpoints"}, "get", "list", "watch"),
	}
}

// operatorCiliumRules are for Cilium's kinds that it looks after.
func operatorCiliumRules() []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{
		system.Rule(ciliumGroup, []string{"ciliumnetworkpolicies", "ciliumclusterwidenetworkpolicies"},
			"create", "update", "deletecollection", "patch", "get", "list", "watch"),
		system.Rule(ciliumGroup, []string{"ciliumnetworkpolicies/status", "ciliumclusterwidenetworkpolicies/status"}, "patch", "update"),
		system.Rule(ciliumGroup, []string{"ciliumendpoints", "ciliumidentities"}, "delete", "list", "watch"),
		system.Rule(ciliumGroup, []string{"ciliumidentities"}, "update"),
		system.Rule(ciliumGroup, []string{"ciliumnodes"}, "create", "update", "get", "list", "watch", "delete"),
		system.Rule(ciliumGroup, []string{"ciliumnodes/status"}, "update"),
		system.Rule(ciliumGroup, []string{
			"ciliumendpointslices", "ciliumenvoyconfigs", "ciliumbgppeerconfigs", "ciliumbgpadvertisements", "ciliumbgpnodeconfigs",
		}, "create", "update", "get", "list", "watch", "delete", "patch"),
		system.Rule(ciliumGroup, []string{"ciliumbgpclusterconfigs/status", "ciliumbgppeerconfigs/status"}, "update"),
	}
}

// definitionRules let the operator make the definitions of Cilium's kinds, and raise
// no others.
func definitionRules() []rbacv1.PolicyRule {
	definitions := []string{"customresourcedefinitions"}
	raise := system.Rule(extensionsGroup, definitions, "update")
	for _, kind := range operatorKinds {
		raise.ResourceNames = append(raise.ResourceNames, kind+"."+ciliumGroup)
	}
	return []rbacv1.PolicyRule{system.Rule(extensionsGroup, definitions, "create", "get", "list", "watch"), raise}
}
