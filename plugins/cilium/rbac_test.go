// SPDX-License-Identifier: Apache-2.0

package cilium_test

import (
	"maps"
	"slices"
	"testing"

	. "github.com/onsi/gomega"
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/test/built"
)

// rights of each role: group, resources, names of resources, verbs. C is cilium.io.
var rights = map[string][]string{
	"ClusterRole cilium": {
		"networking.k8s.io|networkpolicies||get,list,watch",
		"discovery.k8s.io|endpointslices||get,list,watch",
		"|nodes/status||patch",
		"|namespaces,services,pods,endpoints,nodes||get,list,watch",
		"apiextensions.k8s.io|customresourcedefinitions||list,watch,get",
		"C|ciliumloadbalancerippools,ciliumbgppeeringpolicies,ciliumbgpnodeconfigs,ciliumbgpadvertisements,ciliumbgppeerconfigs," +
			"ciliumclusterwideenvoyconfigs,ciliumclusterwidenetworkpolicies,ciliumegressgatewaypolicies,ciliumendpoints,ciliumendpointslices," +
			"ciliumenvoyconfigs,ciliumidentities,ciliumlocalredirectpolicies,ciliumnetworkpolicies,ciliumnodes,ciliumnodeconfigs," +
			"ciliumcidrgroups,ciliuml2announcementpolicies,ciliumpodippools,ciliumgatewayclassconfigs||list,watch",
		"C|ciliumidentities,ciliumendpoints,ciliumnodes||create",
		"C|ciliumidentities||update",
		"C|ciliumendpoints||delete,get",
		"C|ciliumendpointslices||deletecollection",
		"C|ciliumnodes,ciliumnodes/status||get,update",
		"C|ciliumendpoints/status,ciliumendpoints,ciliuml2announcementpolicies/status,ciliumbgpnodeconfigs/status||patch",
	},
	"ClusterRole cilium-operator": {
		"|pods||get,list,watch,delete",
		"|configmaps|cilium-config|patch",
		"|nodes||list,watch",
		"|nodes,nodes/status||patch",
		"discovery.k8s.io|endpointslices||get,list,watch",
		"|services/status||update,patch",
		"|namespaces||get,list,watch",
		"|services,endpoints||get,list,watch",
		"C|ciliumnetworkpolicies,ciliumclusterwidenetworkpolicies||create,update,deletecollection,patch,get,list,watch",
		"C|ciliumnetworkpolicies/status,ciliumclusterwidenetworkpolicies/status||patch,update",
		"C|ciliumendpoints,ciliumidentities||delete,list,watch",
		"C|ciliumidentities||update",
		"C|ciliumnodes||create,update,get,list,watch,delete",
		"C|ciliumnodes/status||update",
		"C|ciliumendpointslices,ciliumenvoyconfigs,ciliumbgppeerconfigs,ciliumbgpadvertisements,ciliumbgpnodeconfigs||create,update,get,list,watch,delete,patch",
		"C|ciliumbgpclusterconfigs/status,ciliumbgppeerconfigs/status||update",
		"apiextensions.k8s.io|customresourcedefinitions||create,get,list,watch",
		"apiextensions.k8s.io|customresourcedefinitions|ciliumloadbalancerippools.C,ciliumbgpclusterconfigs.C,ciliumbgppeerconfigs.C," +
			"ciliumbgpadvertisements.C,ciliumbgpnodeconfigs.C,ciliumbgpnodeconfigoverrides.C,ciliumclusterwideenvoyconfigs.C," +
			"ciliumclusterwidenetworkpolicies.C,ciliumegressgatewaypolicies.C,ciliumendpoints.C,ciliumendpointslices.C,ciliumenvoyconfigs.C," +
			"ciliumidentities.C,ciliumlocalredirectpolicies.C,ciliumnetworkpolicies.C,ciliumnodes.C,ciliumnodeconfigs.C,ciliumcidrgroups.C," +
			"ciliuml2announcementpolicies.C,ciliumpodippools.C,ciliumgatewayclassconfigs.C|update",
		"C|ciliumloadbalancerippools,ciliumpodippools,ciliumbgppeeringpolicies,ciliumbgpclusterconfigs,ciliumbgpnodeconfigoverrides,ciliumbgppeerconfigs||get,list,watch",
		"C|ciliumpodippools||create",
		"C|ciliumloadbalancerippools/status||patch",
		"coordination.k8s.io|leases||create,get,update",
	},
	"Role cilium-config-agent": {"|configmaps||get,list,watch"},
	"ClusterRole hubble-ui": {
		"networking.k8s.io|networkpolicies||get,list,watch",
		"|componentstatuses,endpoints,namespaces,nodes,pods,services||get,list,watch",
		"apiextensions.k8s.io|customresourcedefinitions||get,list,watch",
		"C|*||get,list,watch",
	},
	"Role hubble-generate-certs": {
		"|secrets||create",
		"|secrets|hubble-server-certs,hubble-relay-client-certs,hubble-relay-server-certs,hubble-metrics-server-certs,hubble-ui-client-certs|update",
		"|secrets|cilium-ca|get,update",
	},
}

// announcing is what agents may besides that if they announce Services.
const announcing = "coordination.k8s.io|leases||create,get,update,list,delete"

func TestRightsAreExactlyThese(t *testing.T) {
	g := NewWithT(t)
	g.Expect(rightsIn(build(t, hubbleEnabled))).To(Equal(rights))
	without := rightsIn(build(t, ""))
	g.Expect(slices.Sorted(maps.Keys(without))).To(Equal([]string{"ClusterRole cilium", "ClusterRole cilium-operator", "Role cilium-config-agent"}))
	for name, list := range without {
		g.Expect(list).To(Equal(rights[name]), name)
	}
}

func TestAgentsThatAnnounceServicesMayHaveLeases(t *testing.T) {
	g := NewWithT(t)
	agent := rightsIn(build(t, "l2Announcements: {enabled: true}"))["ClusterRole cilium"]
	g.Expect(agent).To(Equal(append(rights["ClusterRole cilium"], announcing)))
}

func rightsIn(n *network) map[string][]string {
	got := map[string][]string{}
	for _, object := range n.Objects.In(bundleName) {
		switch role := object.(type) {
		case *rbacv1.ClusterRole:
			got[shown(object)] = built.Rights(role.Rules, "cilium.io")
		case *rbacv1.Role:
			got[shown(object)] = built.Rights(role.Rules, "cilium.io")
		}
	}
	return got
}

func TestRolesAndBindingsArePartOfCilium(t *testing.T) {
	for _, object := range build(t, hubbleEnabled).Objects.In(bundleName) {
		if object.GetObjectKind().GroupVersionKind().Group == rbacv1.GroupName {
			NewWithT(t).Expect(pairs(object.GetLabels())).To(Equal(partOfCilium), shown(object))
		}
	}
}

// The account of every binding has the name of the binding, but for the agent's second.
func TestWhoHasTheRights(t *testing.T) {
	g := NewWithT(t)
	accounts := map[string]string{}
	for _, object := range build(t, hubbleEnabled).Objects.In(bundleName) {
		for _, subject := range subjectsOf(object) {
			g.Expect(subject.Kind + " " + subject.Namespace).To(Equal("ServiceAccount kube-system"))
			accounts[shown(object)] = subject.Name
		}
	}
	g.Expect(accounts).To(Equal(map[string]string{
		"ClusterRoleBinding cilium": "cilium", "RoleBinding cilium-config-agent": "cilium", "ClusterRoleBinding cilium-operator": "cilium-operator",
		"ClusterRoleBinding hubble-relay": "hubble-relay", "ClusterRoleBinding hubble-ui": "hubble-ui",
		"ClusterRoleBinding hubble-generate-certs": "hubble-generate-certs", "RoleBinding hubble-generate-certs": "hubble-generate-certs",
	}))
}

func subjectsOf(object plugin.Object) []rbacv1.Subject {
	switch binding := object.(type) {
	case *rbacv1.ClusterRoleBinding:
		return binding.Subjects
	case *rbacv1.RoleBinding:
		return binding.Subjects
	}
	return nil
}
