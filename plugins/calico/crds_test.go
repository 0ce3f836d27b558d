// SPDX-License-Identifier: Apache-2.0

package calico_test

import (
	"fmt"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

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

// What relies on the defaults of Calico's own definitions, written or stored, finds them after a
// take-over.
func TestDefinitionsHaveTheDefaultsOfCalicosOwn(t *testing.T) {
	n := build(t, "")
	const ports, defaulted = "{ports: [{portNumber: {port: 53}}, {portRange: {start: 1, end: 2}}, {namedPort: dns}]}",
		"{ports: [{portNumber: {port: 53, protocol: TCP}}, {portRange: {start: 1, end: 2, protocol: TCP}}, {namedPort: dns}]}"
	for name, test := range map[string]struct{ written, stored string }{
		"bgpconfigurations.crd.projectcalico.org": {"{spec: {nodeMeshPassword: {secretKeyRef: {key: password}}}}",
			`{spec: {nodeMeshPassword: {secretKeyRef: {key: password, name: ""}}, serviceLoadBalancerAggregation: Enabled}}`},
		"bgppeers.crd.projectcalico.org": {"{spec: {password: {secretKeyRef: {key: password}}, other: 1}}",
			`{spec: {password: {secretKeyRef: {key: password, name: ""}}, other: 1}}`},
		"ipamblocks.crd.projectcalico.org": {"{spec: {cidr: 10.0.0.0/26}}", "{spec: {cidr: 10.0.0.0/26, sequenceNumber: 0}}"},
		"kubecontrollersconfigurations.crd.projectcalico.org": {"{spec: {controllers: {loadBalancer: {}}}, status: {runningConfig: {controllers: {loadBalancer: {}}}}}",
			"{spec: {controllers: {loadBalancer: {assignIPs: AllServices}}}, status: {runningConfig: {controllers: {loadBalancer: {assignIPs: AllServices}}}}}"},
		"adminnetworkpolicies.policy.networking.k8s.io": {"{spec: {ingress: [" + ports + "], egress: [" + ports + "]}}",
			"{spec: {ingress: [" + defaulted + "], egress: [" + defaulted + "]}}"},
		"baselineadminnetworkpolicies.policy.networking.k8s.io": {"{spec: {ingress: [" + ports + "], egress: [" + ports + "]}}",
			"{spec: {ingress: [" + defaulted + "], egress: [" + defaulted + "]}}"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			schema := need[*apiextensionsv1.CustomResourceDefinition](n, name).Spec.Versions[0].Schema.OpenAPIV3Schema
			object, stored := map[string]any{}, map[string]any{}
			g.Expect(yaml.Unmarshal([]byte(test.written), &object)).To(Succeed())
			g.Expect(yaml.Unmarshal([]byte(test.stored), &stored)).To(Succeed())
			fillIn(t, object, schema)
			g.Expect(object).To(Equal(stored))
		})
	}
}

// fillIn adds to a value the defaults of its schema, as API servers do: where the field is missing
// in an object that is there.
func fillIn(t *testing.T, value any, schema *apiextensionsv1.JSONSchemaProps) {
	t.Helper()
	switch value := value.(type) {
	case map[string]any:
		for name, field := range schema.Properties {
			if _, has := value[name]; !has && field.Default != nil {
				var usual any
				NewWithT(t).Expect(yaml.Unmarshal(field.Default.Raw, &usual)).To(Succeed())
				value[name] = usual
			}
			if inner, has := value[name]; has {
				fillIn(t, inner, &field)
			}
		}
	case []any:
		for _, element := range value {
			fillIn(t, element, schema.Items.Schema)
		}
	}
}

func TestDefinitionsKnowTheActionsOfAdminNetworkPolicies(t *testing.T) {
	n := build(t, "")
	for name, actions := range map[string][]string{"adminnetworkpolicies": {"Allow", "Deny", "Pass"}, "baselineadminnetworkpolicies": {"Allow", "Deny"}} {
		definition := need[*apiextensionsv1.CustomResourceDefinition](n, name+".policy.networking.k8s.io")
		spec := definition.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"]
		for _, direction := range []string{"ingress", "egress"} {
			var got []string
			for _, action := range spec.Properties[direction].Items.Schema.Properties["action"].Enum {
				got = append(got, strings.Trim(string(action.Raw), `"`))
			}
			NewWithT(t).Expect(got).To(Equal(actions), name)
		}
	}
}
