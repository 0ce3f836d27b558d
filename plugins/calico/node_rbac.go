// SPDX-License-Identifier: Apache-2.0

package calico

import (
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/plugin/system"
)

const (
	cniAccount     = "calico-cni-plugin"
	tierGetterName = "calico-tier-getter"
)

// nodeAccess are the identities and rights of what runs on every node.
func (n *network) nodeAccess() []plugin.Object {
	subjects := []rbacv1.Subject{system.Account(nodeName)}
	if n.config.Typha.Enabled {
		// Typha watches for the nodes what they may watch, and has no role of its own.
		subjects = append(subjects, system.Account(typhaName))
	}
	return slices.Concat(nodeRole, []plugin.Object{system.ClusterRoleBinding(nodeName, subjects...)}, cniAccess)
}

var (
	nodeRole = plugin.Constants(
		system.ServiceAccount(nodeName),
		system.ClusterRole(nodeName, nodeRules()...),
	)
	cniAccess = plugin.Constants(
		system.ServiceAccount(cniAccount),
		system.ClusterRole(cniAccount, cniRules()...),
		system.ClusterRoleBinding(cniAccount, system.Account(cniAccount)),
		system.ClusterRole(tierGetterName, system.Rule("projectcalico.org", []string{"tiers"}, "get")),
		// The garbage collector asks as kube-controller-manager. Where there is an
		// API server for projectcalico.org, cascading deletion fails without this.
		system.ClusterRoleBinding(tierGetterName, rbacv1.Subject{
			APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: "system:kube-controller-manager",
		}),
	)
)

// calicoResources are the kinds that Felix and confd watch.
var calicoResources = []string{
	"globalfelixconfigs", "felixconfigurations", "bgppeers", "bgpfilters", "globalbgpconfigs", "bgpconfigurations",
	"ippools", "ipreservations", "ipamblocks",
	"globalnetworkpolicies", "stagedglobalnetworkpolicies", "globalnetworksets",
	"networkpolicies", "stagednetworkpolicies", "stagedkubernetesnetworkpolicies", "networksets",
	"clusterinformations", "hostendpoints", "blockaffinities", "caliconodestatuses", "tiers",
}

func nodeRules() []rbacv1.PolicyRule {
	token := system.Rule(coreGroup, []string{"serviceaccounts/token"}, "create")
	token.ResourceNames = []string{cniAccount}
	return []rbacv1.PolicyRule{
		token, // calico-node renews the token in the CNI plugin's kubeconfig
		system.Rule(coreGroup, []string{"pods", "nodes", "namespaces"}, "get"),
		system.Rule("discovery.k8s.io", []string{"endpointslices"}, "watch", "list"),
		system.Rule(coreGroup, []string{"endpoints", "services"}, "watch", "list", "get"),
		system.Rule(coreGroup, []string{"configmaps"}, "get"),
		system.Rule(coreGroup, []string{"nodes/status"}, "patch", "update"),
		system.Rule("networking.k8s.io", []string{"networkpolicies"}, "watch", "list"),
		system.Rule("policy.networking.k8s.io", []string{"adminnetworkpolicies", "baselineadminnetworkpolicies"}, "watch", "list"),
		system.Rule(coreGroup, []string{"pods", "namespaces", "serviceaccounts"}, "list", "watch"),
		system.Rule(coreGroup, []string{"pods/status"}, "patch"),
		system.Rule(calicoGroup, calicoResources, "get", "list", "watch"),
		system.Rule(calicoGroup, []string{"tiers"}, "create"),
		system.Rule(calicoGroup, []string{"ippools", "felixconfigurations", "clusterinformations"}, "create", "update"),
		system.Rule(calicoGroup, []string{"caliconodestatuses"}, "update"),
		system.Rule(coreGroup, []string{"nodes"}, "get", "list", "watch"),
		system.Rule(calicoGroup, []string{"bgpconfigurations", "bgppeers"}, "create", "update"),
		system.Rule(calicoGroup, []string{"blockaffinities", "ipamblocks", "ipamhandles"}, "get", "list", "create", "update", "delete"),
		system.Rule(calicoGroup, []string{"ipamconfigs"}, "get", "create"),
		system.Rule(calicoGroup, []string{"blockaffinities"}, "watch"),
		system.Rule("apps", []string{"daemonsets"}, "get"),
	}
}

func cniRules() []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{
		system.Rule(coreGroup, []string{"pods", "nodes", "namespaces"}, "get"),
		system.Rule(coreGroup, []string{"pods/status"}, "patch"),
		system.Rule(calicoGroup, []string{
			"blockaffinities", "ipamblocks", "ipamhandles", "clusterinformations", "ippools", "ipreservations", "ipamconfigs",
		}, "get", "list", "create", "update", "delete"),
	}
}
