// SPDX-License-Identifier: Apache-2.0

package calico_test

import (
	"testing"

	. "github.com/onsi/gomega"
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/test/built"
)

// rights of each role: groups, resources, names of resources, verbs.
var rights = map[string][]string{
	"calico-kube-controllers": {
		"|nodes||watch,list,get", "|pods||get,list,watch", "|namespaces||get,list,watch", "|services,services/status||get,list,update,watch",
		"C|ipreservations||list", "C|blockaffinities,ipamblocks,ipamhandles,ipamconfigs,tiers||get,list,create,update,delete,watch",
		"C|ippools||list,watch", "C|hostendpoints||get,list,create,update,delete,watch",
		"C|clusterinformations||get,list,create,update,watch", "C|kubecontrollersconfigurations||get,list,create,update,watch",
	},
	"multus":           {"k8s.cni.cncf.io|*||*", "|pods,pods/status||get,list,update,watch", ",events.k8s.io|events||create,patch,update"},
	"calico-node-cpva": {"|nodes||list", "apps,extensions|deployments,daemonsets||patch"},
	"calico-cni-plugin": {
		"|pods,nodes,namespaces||get", "|pods/status||patch",
		"C|blockaffinities,ipamblocks,ipamhandles,clusterinformations,ippools,ipreservations,ipamconfigs||get,list,create,update,delete",
	},
	"calico-node": {
		"|serviceaccounts/token|calico-cni-plugin|create", "|pods,nodes,namespaces||get", "discovery.k8s.io|endpointslices||watch,list",
		"|endpoints,services||watch,list,get", "|configmaps||get", "|nodes/status||patch,update", "networking.k8s.io|networkpolicies||watch,list",
		"policy.networking.k8s.io|adminnetworkpolicies,baselineadminnetworkpolicies||watch,list", "|pods,namespaces,serviceaccounts||list,watch",
		"|pods/status||patch",
		"C|globalfelixconfigs,felixconfigurations,bgppeers,bgpfilters,globalbgpconfigs,bgpconfigurations,ippools,ipreservations,ipamblocks," +
			"globalnetworkpolicies,stagedglobalnetworkpolicies,globalnetworksets,networkpolicies,stagednetworkpolicies," +
			"stagedkubernetesnetworkpolicies,networksets,clusterinformations,hostendpoints,blockaffinities,caliconodestatuses,tiers||get,list,watch",
		"C|tiers||create", "C|ippools,felixconfigurations,clusterinformations||create,update", "C|caliconodestatuses||update",
		"|nodes||get,list,watch", "C|bgpconfigurations,bgppeers||create,update",
		"C|blockaffinities,ipamblocks,ipamhandles||get,list,create,update,delete", "C|ipamconfigs||get,create", "C|blockaffinities||watch",
		"apps|daemonsets||get",
	},
	"calico-tier-getter": {"projectcalico.org|tiers||get"},
	"typha-cpha":         {"|nodes||list,watch,get"},
	"typha-cpva":         {"|nodes||list", "apps,extensions|deployments||patch"},
}

func TestRightsAreExactlyThese(t *testing.T) {
	g := NewWithT(t)
	n := build(t, "multus: {enabled: true}")
	got := map[string][]string{}
	for _, object := range n.Objects.For(plugin.Shoot) {
		if role, ok := object.(*rbacv1.ClusterRole); ok {
			got[role.Name] = built.Rights(role.Rules, "crd.projectcalico.org")
		}
	}
	g.Expect(got).To(Equal(rights))
	g.Expect(built.Rights(need[*rbacv1.Role](n, "typha-cpha").Rules, "crd.projectcalico.org")).To(Equal([]string{"|configmaps||get", "apps,extensions|deployments/scale||get,update"}))
}

func TestTheGarbageCollectorMaySeeTiers(t *testing.T) {
	g := NewWithT(t)
	binding := need[*rbacv1.ClusterRoleBinding](build(t, ""), "calico-tier-getter")
	g.Expect(binding.Subjects).To(Equal([]rbacv1.Subject{
		{APIGroup: "rbac.authorization.k8s.io", Kind: "User", Name: "system:kube-controller-manager"},
	}))
}
