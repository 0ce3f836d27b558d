// SPDX-License-Identifier: Apache-2.0

package cilium

import (
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/plugin/system"
)

// The cilium.io objects of a network, as far as this plugin writes them. Their kinds
// are not known to the cluster before the operator has run.
type (
	policySpec struct {
		EndpointSelector metav1.LabelSelector `json:"endpointSelector"`
		Ingress          []trafficRule        `json:"ingress,omitempty"`
		Egress           []trafficRule        `json:"egress,omitempty"`
	}
	trafficRule struct {
		FromEndpoints []metav1.LabelSelector `json:"fromEndpoints,omitempty"`
		FromEntities  []string               `json:"fromEntities,omitempty"`
		ToEndpoints   []metav1.LabelSelector `json:"toEndpoints,omitempty"`
		ToEntities    []string               `json:"toEntities,omitempty"`
		ToPorts       []portRule             `json:"toPorts"`
	}
	portRule struct {
		Ports []port `json:"ports"`
	}
	port struct {
		Port     string `json:"port"`
		Name     string `json:"name,omitempty"`
		Protocol string `json:"protocol"`
	}
	redirectSpec struct {
		RedirectFrontend redirectFrontend `json:"redirectFrontend"`
		RedirectBackend  redirectBackend  `json:"redirectBackend"`
	}
	redirectFrontend struct {
		ServiceMatcher serviceMatcher `json:"serviceMatcher"`
	}
	serviceMatcher struct {
		ServiceName string `json:"serviceName"`
		Namespace   string `json:"namespace"`
	}
	redirectBackend struct {
		LocalEndpointSelector metav1.LabelSelector `json:"localEndpointSelector"`
		ToPorts               []port               `json:"toPorts"`
	}
)

// Kinds of cilium.io/v2 that this plugin makes objects of.
const (
	networkPolicyKind            = "CiliumNetworkPolicy"
	clusterwideNetworkPolicyKind = "CiliumClusterwideNetworkPolicy"
	localRedirectPolicyKind      = "CiliumLocalRedirectPolicy"
)

const (
	tcp = "TCP"
	udp = "UDP"

	clusterDNS   = "kube-dns"
	nodeLocalDNS = "node-local-dns"
	// nodeLocalName is the name of the objects for the DNS cache of each node.
	nodeLocalName = "nodelocaldns"
)

// policies are objects of kinds that the operator brings.
func (n *network) policies() []plugin.Object {
	objects := slices.Clone(dnsPolicies)
	if n.in.NodeLocalDNS {
		objects = append(objects, nodeLocalPolicies...)
	}
	if n.config.Hubble.Enabled {
		objects = append(objects, hubblePolicies...)
	}
	return objects
}

// dnsPolicies let agents of other nodes ask the cluster's DNS servers for pods: they
// look into requests on their way, and then send them in their own name.
var dnsPolicies = plugin.Constants(policy("gardener.cloud--allow-dns-from-remote-nodes",
	"Lets the DNS proxies of Cilium's agents on other nodes connect to the cluster's DNS servers.",
	policySpec{
		EndpointSelector: metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
			{Key: system.AppLabel, Operator: metav1.LabelSelectorOpIn, Values: []string{clusterDNS}},
		}},
		Ingress: []trafficRule{{
			FromEntities: []string{"remote-node"},
			ToPorts:      ports(port{Port: "8053", Protocol: tcp}, port{Port: "8053", Protocol: udp}),
		}},
	}))

// nodeLocalPolicies send pods' requests to the cluster's DNS servers to the cache on
// their own node, and let all of them reach it.
var nodeLocalPolicies = plugin.Constants(nodeLocalRedirect(), nodeLocalAccess())

func nodeLocalRedirect() plugin.Object {
	return ciliumObject(localRedirectPolicyKind, system.Named(nodeLocalName, nil), redirectSpec{
		RedirectFrontend: redirectFrontend{ServiceMatcher: serviceMatcher{ServiceName: clusterDNS, Namespace: namespace}},
		RedirectBackend: redirectBackend{
			LocalEndpointSelector: labelled(nodeLocalDNS),
			ToPorts:               []port{{Port: "53", Name: "dns", Protocol: udp}, {Port: "53", Name: "dns-tcp", Protocol: tcp}},
		},
	})
}

func nodeLocalAccess() plugin.Object {
	caches := labelled(nodeLocalDNS)
	caches.MatchLabels["k8s:io.kubernetes.pod.namespace"] = namespace
	return ciliumObject(clusterwideNetworkPolicyKind, system.ClusterWide(nodeLocalName), policySpec{
		EndpointSelector: caches,
		Ingress: []trafficRule{{
			FromEndpoints: []metav1.LabelSelector{{}},
			ToPorts: ports(
				port{Port: "53", Protocol: tcp}, port{Port: "53", Protocol: udp},
				port{Port: "9253", Protocol: tcp}, port{Port: "9353", Protocol: tcp}), // metrics
		}},
	})
}

// hubblePolicies let Hubble's UI reach its relay, and the relay all agents.
var hubblePolicies = plugin.Constants(
	policy("gardener.cloud--allow-hubble-relay-from-hubble-ui", "", policySpec{
		EndpointSelector: labelled(relayName),
		Ingress:          []trafficRule{{FromEndpoints: []metav1.LabelSelector{labelled(uiName)}, ToPorts: relayPorts}},
	}),
	policy("gardener.cloud--allow-hubble-ui-to-hubble-relay", "", policySpec{
		EndpointSelector: labelled(uiName),
		Egress:           []trafficRule{{ToEndpoints: []metav1.LabelSelector{labelled(relayName)}, ToPorts: relayPorts}},
	}),
	policy("gardener.cloud--allow-hubble-relay-to-peers", "", policySpec{
		EndpointSelector: labelled(relayName),
		Egress: []trafficRule{{
			ToEntities: []string{"cluster"},
			ToPorts:    ports(port{Port: decimal(hubblePeerPort), Protocol: tcp}),
		}},
	}),
)

var relayPorts = ports(port{Port: decimal(relayPort), Protocol: tcp})

func ports(list ...port) []portRule { return []portRule{{Ports: list}} }

// labelled selects the pods of a component.
func labelled(app string) metav1.LabelSelector { return *system.Selecting(system.App(app)) }

func policy(name, description string, spec policySpec) plugin.Object {
	meta := system.Named(name, nil)
	if description != "" {
		meta.Annotations = map[string]string{system.DescriptionAnnotation: description}
	}
	return ciliumObject(networkPolicyKind, meta, spec)
}

// ciliumObject makes an object of a kind of cilium.io. It panics on what cannot be
// encoded: all of these are constants.
func ciliumObject(kind string, meta metav1.ObjectMeta, spec any) *unstructured.Unstructured {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&struct {
		metav1.TypeMeta   `json:",inline"`
		metav1.ObjectMeta `json:"metadata"`
		Spec              any `json:"spec"`
	}{system.TypeMeta(ciliumGroup+"/v2", kind), meta, spec})
	if err != nil {
		panic(fmt.Sprintf("%s %s cannot be encoded: %v", kind, meta.Name, err))
	}
	return &unstructured.Unstructured{Object: content}
}
