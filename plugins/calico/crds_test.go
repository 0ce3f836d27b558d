// SPDX-License-Identifier: Apache-2.0

package calico_test

import (
	"fmt"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/trellis-network/trellis/plugin"
)

func TestDefinitionsAreExactlyThese(t *testing.T) {
	g := NewWithT(t)
	var got []string
	for _, object := range build(t, "").Objects.For(plugin.Shoot) {
		if crd, ok := object.(*apiextensionsv1.CustomResourceDefinition); ok {
			names, version := crd.Spec.Names, crd.Spec.Versions[0]
			g.Expect(crd.Spec.Versions).To(HaveLen(1), crd.Name)
			g.Expect(version.Served && version.Storage).To(BeTrue(), crd.Name)
			g.Expect(crd.Name).To(Equal(names.Plural + "." + crd.Spec.Group))
			g.Expect(names.ListKind).To(Equal(names.Kind + "List"))
			g.Expect(names.Singular).To(Equal(strings.ToLower(names.Kind)))
			g.Expect(crd.Labels).To(Equal(map[string]string{"gardener.cloud/role": "system-component"}))
			got = append(got, fmt.Sprintf("%s %s %s %s %s", crd.Name, names.Kind, crd.Spec.Scope, version.Name, strings.Join(names.ShortNames, ",")))
		}
	}
	g.Expect(got).To(ConsistOf(
		"bgpconfigurations.crd.projectcalico.org BGPConfiguration Cluster v1 ",
		"bgpfilters.crd.projectcalico.org BGPFilter Cluster v1 ",
		"bgppeers.crd.projectcalico.org BGPPeer Cluster v1 ",
		"blockaffinities.crd.projectcalico.org BlockAffinity Cluster v1 ",
		"caliconodestatuses.crd.projectcalico.org CalicoNodeStatus Cluster v1 ",
		"clusterinformations.crd.projectcalico.org ClusterInformation Cluster v1 ",
		"felixconfigurations.crd.projectcalico.org FelixConfiguration Cluster v1 ",
		"globalnetworkpolicies.crd.projectcalico.org GlobalNetworkPolicy Cluster v1 ",
		"globalnetworksets.crd.projectcalico.org GlobalNetworkSet Cluster v1 ",
		"hostendpoints.crd.projectcalico.org HostEndpoint Cluster v1 ",
		"ipamblocks.crd.projectcalico.org IPAMBlock Cluster v1 ",
		"ipamconfigs.crd.projectcalico.org IPAMConfig Cluster v1 ",
		"ipamhandles.crd.projectcalico.org IPAMHandle Cluster v1 ",
		"ippools.crd.projectcalico.org IPPool Cluster v1 ",
		"ipreservations.crd.projectcalico.org IPReservation Cluster v1 ",
		"kubecontrollersconfigurations.crd.projectcalico.org KubeControllersConfiguration Cluster v1 ",
		"networkpolicies.crd.projectcalico.org NetworkPolicy Namespaced v1 ",
		"networksets.crd.projectcalico.org NetworkSet Namespaced v1 ",
		"stagedglobalnetworkpolicies.crd.projectcalico.org StagedGlobalNetworkPolicy Cluster v1 ",
		"stagedkubernetesnetworkpolicies.crd.projectcalico.org StagedKubernetesNetworkPolicy Namespaced v1 ",
		"stagednetworkpolicies.crd.projectcalico.org StagedNetworkPolicy Namespaced v1 ",
		"tiers.crd.projectcalico.org Tier Cluster v1 ",
		"adminnetworkpolicies.policy.networking.k8s.io AdminNetworkPolicy Cluster v1alpha1 anp",
		"baselineadminnetworkpolicies.policy.networking.k8s.io BaselineAdminNetworkPolicy Cluster v1alpha1 banp",
	))
}

func TestDefinitionsKeepFieldsThatTheyDoNotDescribe(t *testing.T) {
	for _, object := range build(t, "").Objects.For(plugin.Shoot) {
		if crd, ok := object.(*apiextensionsv1.CustomResourceDefinition); ok {
			t.Run(crd.Name, func(t *testing.T) {
				g := NewWithT(t)
				schema := crd.Spec.Versions[0].Schema.OpenAPIV3Schema
				g.Expect(schema.Type).To(Equal("object"))
				for _, block := range []string{"spec", "status"} {
					g.Expect(schema.Properties[block].Type).To(Equal("object"))
					g.Expect(*schema.Properties[block].XPreserveUnknownFields).To(BeTrue())
				}
			})
		}
	}
}

func TestAdminNetworkPoliciesAreApprovedAndHaveAStatus(t *testing.T) {
	g := NewWithT(t)
	n := build(t, "")
	for name, columns := range map[string][]string{
		"adminnetworkpolicies.policy.networking.k8s.io":         {"Priority", "Age"},
		"baselineadminnetworkpolicies.policy.networking.k8s.io": {"Age"},
	} {
		crd := need[*apiextensionsv1.CustomResourceDefinition](n, name)
		g.Expect(crd.Annotations).To(HaveKeyWithValue("api-approved.kubernetes.io", HaveSuffix("network-policy-api/pull/30")))
		g.Expect(crd.Spec.Versions[0].Subresources.Status).NotTo(BeNil())
		var got []string
		for _, column := range crd.Spec.Versions[0].AdditionalPrinterColumns {
			got = append(got, column.Name)
		}
		g.Expect(got).To(Equal(columns))
	}
}

func TestDefinitionsDescribeWhatCameWithCalico331(t *testing.T) {
	n := build(t, "")
	for name, fields := range map[string]string{
		"bgpconfigurations":     "localWorkloadPeeringIPV4 localWorkloadPeeringIPV6 serviceLoadBalancerAggregation",
		"bgppeers":              "localASNumber localWorkloadSelector nextHopMode reversePeering",
		"blockaffinities":       "type cidr deleted node state",
		"felixconfigurations":   "nftablesMode bpfKubeProxyHealthzPort goMemoryLimitMB programClusterRoutes",
		"globalnetworkpolicies": "tier",
		"ippools":               "cidr assignmentMode namespaceSelector",
		"networkpolicies":       "tier",
		"tiers":                 "order defaultAction",
	} {
		definition := need[*apiextensionsv1.CustomResourceDefinition](n, name+".crd.projectcalico.org")
		spec := definition.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"]
		for _, field := range strings.Fields(fields) {
			NewWithT(t).Expect(spec.Properties).To(HaveKey(field), name)
		}
	}
}
