// SPDX-License-Identifier: Apache-2.0

package calico

import (
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/trellis-network/trellis/plugin"
)

const (
	cniAccount     = "calico-cni-plugin"
	tierGetterName = "calico-tier-getter"
)

// nodeAccess are the identities and rights of what runs on every node.
func (n *network) nodeAccess() []plugin.Object {
	subjects := []rbacv1.Subject{account(nodeName)}
	if n.config.Typha.Enabled {
		// Typha watches for the nodes what they may watch, and has no role of its own.
		subjects = append(subjects, account(typhaName))
	}
	return slices.Concat(nodeRole, []plugin.Object{clusterRoleBinding(nodeName, subjects...)}, cniAccess)
}

var (
	nodeRole = shared(
		serviceAccount(nodeName),
		clusterRole(nodeName, nodeRules()...),
	)
	cniAccess = shared(
		serviceAccount(cniAccount),
		clusterRole(cniAccount, cniRules()...),
		clusterRoleBinding(cniAccount, account(cniAccount)),
		clusterRole(tierGetterName, rule("projectcalico.org", []string{"tiers"}, "get")),
		// The garbage collector asks as kube-controller-manager. Where there is an
		// API server for projectcalico.org, cascading deletion fails without this.
		clusterRoleBinding(tierGetterName, rbacv1.Subject{
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
	token := rule(coreGroup, []string{"serviceaccounts/token"}, "create")
	token.ResourceNames = []string{cniAccount}
	return []rbacv1.PolicyRule{
		token, // calico-node renews the token in the CNI plugin's kubeconfig
		rule(coreGroup, []string{"pods", "nodes", "namespaces"}, "get"),
		rule("discovery.k8s.io", []string{"endpointslices"}, "watch", "list"),
		rule(coreGroup, []string{"endpoints", "services"}, "watch", "list", "get"),
		rule(coreGroup, []string{"configmaps"}, "get"),
		rule(coreGroup, []string{"nodes/status"}, "patch", "update"),
		rule("networking.k8s.io", []string{"networkpolicies"}, "watch", "list"),
		rule("policy.networking.k8s.io", []string{"adminnetworkpolicies", "baselineadminnetworkpolicies"}, "watch", "list"),
		rule(coreGroup, []string{"pods", "namespaces", "serviceaccounts"}, "list", "watch"),
		rule(coreGroup, []string{"pods/status"}, "patch"),
		rule(calicoGroup, calicoResources, "get", "list", "watch"),
		rule(calicoGroup, []string{"tiers"}, "create"),
		rule(calicoGroup, []string{"ippools", "felixconfigurations", "clusterinformations"}, "create", "update"),
		rule(calicoGroup, []string{"caliconodestatuses"}, "update"),
		rule(coreGroup, []string{"nodes"}, "get", "list", "watch"),
		rule(calicoGroup, []string{"bgpconfigurations", "bgppeers"}, "create", "update"),
		rule(calicoGroup, []string{"blockaffinities", "ipamblocks", "ipamhandles"}, "get", "list", "create", "update", "delete"),
		rule(calicoGroup, []string{"ipamconfigs"}, "get", "create"),
		rule(calicoGroup, []string{"blockaffinities"}, "watch"),
		rule("apps", []string{"daemonsets"}, "get"),
	}
}

func cniRules() []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{
		rule(coreGroup, []string{"pods", "nodes", "namespaces"}, "get"),
		rule(coreGroup, []string{"pods/status"}, "patch"),
		rule(calicoGroup, []string{
			"blockaffinities", "ipamblocks", "ipamhandles", "clusterinformations", "ippools", "ipreservations", "ipamconfigs",
		}, "get", "list", "create", "update", "delete"),
	}
}
