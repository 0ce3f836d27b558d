// SPDX-License-Identifier: Apache-2.0

package calico

import (
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/plugin/system"
)

// kind is a kind of Calico's API as its CRD describes it. The CRD describes only the
// fields that users write by hand or that every object has. Calico knows many more;
// spec and status keep those without a description.
type kind struct {
	name       string
	namespaced bool
	spec       properties
	required   []string
}

// calicoKinds are the kinds of crd.projectcalico.org/v1, by name.
var calicoKinds = []kind{
	{name: "BGPConfiguration", spec: properties{
		"asNumber":              integer("The AS number of nodes that state none."),
		"nodeToNodeMeshEnabled": boolean("Whether every node peers with every other one."),
		"logSeverityScreen":     text("The least severe message that BIRD logs."),

		"localWorkloadPeeringIPV4":       text("The address at which pods find BIRD of their own node."),
		"localWorkloadPeeringIPV6":       text("The IPv6 address at which pods find BIRD of their own node."),
		"serviceLoadBalancerAggregation": text("Whether ranges of load balancers' addresses are told as a whole: Enabled or Disabled."),
	}},
	{name: "BGPFilter"},
	{name: "BGPPeer", spec: properties{
		"asNumber":     integer("The AS number of the peer."),
		"node":         text("The node that peers; all if absent."),
		"nodeSelector": text("Selects the nodes that peer."),
		"peerIP":       text("The peer's address, with a port if it is not 179."),
		"peerSelector": text("Selects the nodes to peer with."),

		"localASNumber":         integer("The AS number that the node shows this peer."),
		"localWorkloadSelector": text("Selects the pods of the node to peer with."),
		"nextHopMode":           text("The next hop that the peer is told: Auto, Self or Keep."),
		"reversePeering":        text("Whether nodes that are peers peer back by themselves: Auto or Manual."),
	}},
	{name: "BlockAffinity", required: []string{"cidr", "deleted", "node", "state"}, spec: properties{
		"cidr":    text("The range of the block."),
		"deleted": text("Whether the affinity is being removed: true or false, as a string."),
		"node":    text("The node that the block belongs to."),
		"state":   text("Whether the affinity is confirmed."),
		"type":    text("What the block belongs to."),
	}},
	{name: "CalicoNodeStatus"},
	{name: "ClusterInformation"},
	{name: "FelixConfiguration", spec: properties{
		"bpfDataIfacePattern": text("Matches the interfaces that eBPF programs are attached to."),
		"logSeverityScreen":   text("The least severe message that Felix logs."),

		"bpfKubeProxyHealthzPort": integer("The port on which Felix answers health checks for kube-proxy."),
		"goMemoryLimitMB":         integer("The memory that Felix tries to get by with."),
		"nftablesMode":            text("Whether Felix uses nftables: Enabled, Disabled or Auto."),
		"programClusterRoutes":    text("Whether Felix rather than BIRD makes the routes between nodes: Enabled or Disabled."),
	}},
	{name: "GlobalNetworkPolicy", spec: policyFields},
	{name: "GlobalNetworkSet", spec: properties{"nets": texts("IP ranges.")}},
	{name: "HostEndpoint", spec: properties{
		"node":          text("The node that the endpoint is on."),
		"interfaceName": text("The interface, or * for all."),
		"expectedIPs":   texts("Addresses of the endpoint."),
	}},
	{name: "IPAMBlock"},
	{name: "IPAMConfig"},
	{name: "IPAMHandle"},
	{name: "IPPool", required: []string{"cidr"}, spec: properties{
		"cidr":              text("The range that addresses come from."),
		"blockSize":         integer("The length of the prefix that a node gets at a time."),
		"allowedUses":       texts("What addresses are for: Workload, Tunnel, LoadBalancer."),
		"assignmentMode":    oneOfTexts("Whether addresses are given only when asked for.", "Automatic", "Manual"),
		"ipipMode":          text("When packets travel through IP-in-IP: Always, CrossSubnet or Never."),
		"vxlanMode":         text("When packets travel through VXLAN: Always, CrossSubnet or Never."),
		"natOutgoing":       boolean("Whether what leaves all pools is masqueraded."),
		"disabled":          boolean("Whether no more addresses are given."),
		"disableBGPExport":  boolean("Whether BIRD keeps the range to itself."),
		"nodeSelector":      text("Selects the nodes that give addresses of the pool."),
		"namespaceSelector": text("Selects the namespaces whose pods get addresses of the pool."),
	}},
	{name: "IPReservation", spec: properties{"reservedCIDRs": texts("Ranges that no pod gets an address of.")}},
	{name: "KubeControllersConfiguration"},
	{name: "NetworkPolicy", namespaced: true, spec: policyFields},
	{name: "NetworkSet", namespaced: true, spec: properties{"nets": texts("IP ranges.")}},
	{name: "StagedGlobalNetworkPolicy", spec: policyFields},
	{name: "StagedKubernetesNetworkPolicy", namespaced: true},
	{name: "StagedNetworkPolicy", namespaced: true, spec: policyFields},
	{name: "Tier", spec: properties{
		"order":         number("The place among all tiers; the lowest comes first."),
		"defaultAction": oneOfTexts("What happens to what no policy of the tier decides.", "Pass", "Deny"),
	}},
}

var policyFields = properties{
	"order":    number("The place among all policies of the tier; the lowest comes first."),
	"selector": text("Selects the endpoints that the policy is for."),
	"tier":     text("The tier that the policy is in."),
	"types":    texts("Ingress, Egress or both."),
}

// crds are the definitions of all kinds that Calico v3.31 works with. Calico makes
// objects of some of them at its start.
var crds = plugin.Constants(calicoCRDs()...)

func calicoCRDs() []plugin.Object {
	objects := make([]plugin.Object, 0, len(calicoKinds)+2)
	for _, k := range calicoKinds {
		objects = append(objects, crd(calicoGroup, k.name, k.namespaced, version("v1", k.spec, k.required)))
	}
	priority := apiextensionsv1.CustomResourceColumnDefinition{Name: "Priority", Type: "string", JSONPath: ".spec.priority"}
	return append(objects,
		adminPolicyCRD("AdminNetworkPolicy", "anp", priority, ageColumn),
		adminPolicyCRD("BaselineAdminNetworkPolicy", "banp", ageColumn))
}

var ageColumn = apiextensionsv1.CustomResourceColumnDefinition{Name: "Age", Type: "date", JSONPath: ".metadata.creationTimestamp"}

// adminPolicyCRD is the definition of a kind of Kubernetes' own network policy
// API. Names under k8s.io need the annotation that says where they were approved.
func adminPolicyCRD(name, shortName string, columns ...apiextensionsv1.CustomResourceColumnDefinition) *apiextensionsv1.CustomResourceDefinition {
	v := version("v1alpha1", nil, nil)
	v.AdditionalPrinterColumns = columns
	v.Subresources = &apiextensionsv1.CustomResourceSubresources{Status: &apiextensionsv1.CustomResourceSubresourceStatus{}}
	definition := crd("policy.networking.k8s.io", name, false, v)
	definition.Spec.Names.ShortNames = []string{shortName}
	definition.Annotations = map[string]string{
		apiextensionsv1.KubeAPIApprovedAnnotation: "https://github.com/kubernetes-sigs/network-policy-api/pull/30",
	}
	return definition
}

func crd(group, name string, namespaced bool, v apiextensionsv1.CustomResourceDefinitionVersion) *apiextensionsv1.CustomResourceDefinition {
	scope := apiextensionsv1.ClusterScoped
	if namespaced {
		scope = apiextensionsv1.NamespaceScoped
	}
	singular := strings.ToLower(name)
	return &apiextensionsv1.CustomResourceDefinition{
		TypeMeta: system.TypeMeta(apiextensionsv1.SchemeGroupVersion.String(), "CustomResourceDefinition"),
		ObjectMeta: metav1.ObjectMeta{
			Name:   plural(singular) + "." + group,
			Labels: map[string]string{system.RoleLabel: system.SystemComponent},
		},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: group,
			Names: apiextensionsv1.CustomResourceDefinitionNames{
				Kind: name, ListKind: name + "List", Plural: plural(singular), Singular: singular,
			},
			Scope:    scope,
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{v},
		},
	}
}

// plural is the plural of a kind's name in lower case.
func plural(singular string) string {
	switch {
	case strings.HasSuffix(singular, "y"):
		return strings.TrimSuffix(singular, "y") + "ies"
	case strings.HasSuffix(singular, "s"):
		return singular + "es"
	default:
		return singular + "s"
	}
}

func version(name string, spec properties, required []string) apiextensionsv1.CustomResourceDefinitionVersion {
	return apiextensionsv1.CustomResourceDefinitionVersion{
		Name: name, Served: true, Storage: true,
		Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
			Type: "object",
			Properties: properties{
				"apiVersion": {Type: "string"},
				"kind":       {Type: "string"},
				"metadata":   {Type: "object"},
				"spec":       open(spec, required),
				"status":     open(nil, nil),
			},
		}},
	}
}
