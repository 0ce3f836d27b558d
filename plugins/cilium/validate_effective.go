// SPDX-License-Identifier: Apache-2.0

package cilium

import (
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/plugins/cilium/v1alpha1"
)

// ValidateEffective checks what is in force.
func (definition) ValidateEffective(effective, _ *v1alpha1.NetworkConfig, in *plugin.Input, path *field.Path) plugin.Findings {
	var found plugin.Findings
	validateEgressGateway(&found, effective, in, path)
	validateLoadBalancing(&found, effective, in, path)
	validateNativeRouting(&found, effective, in, path)
	validateKubeProxy(&found, in)
	validateAPIServerAddress(&found, effective, in)
	warnUnadapted(&found, in)
	w := warner{plugin.Warner{Found: &found, Path: path}}
	w.routing(effective, in)
	w.masquerading(effective)
	w.services(effective, in)
	w.encryption(effective)
	return found
}

// validateEgressGateway refuses what an egress gateway does not work with. Agents
// would not start.
func validateEgressGateway(found *plugin.Findings, effective *v1alpha1.NetworkConfig, in *plugin.Input, path *field.Path) {
	if !effective.EgressGateway.Enabled {
		return
	}
	refuse := func(reason string) {
		found.Error(field.Forbidden(path.Child("egressGateway", "enabled"), reason))
	}
	if !replacesKubeProxy(in) {
		refuse("an egress gateway needs a Shoot without kube-proxy; set spec.kubernetes.kubeProxy.enabled of the Shoot to false, or leave egressGateway out")
	}
	if !tunnels(effective) {
		refuse("an egress gateway needs a tunnel; set overlay.enabled to true, or leave egressGateway out")
	}
	if missing := missingMasquerade(effective); missing != "" {
		refuse("an egress gateway needs masquerading of IPv4 with eBPF; " + missing + ", or leave egressGateway out")
	}
}

// missingMasquerade is what to do for masquerading of IPv4 with eBPF; empty if nothing.
func missingMasquerade(effective *v1alpha1.NetworkConfig) string {
	var todo []string
	switch {
	case !hasIPv4(effective):
		return "list IPv4 among the Shoot's ipFamilies"
	case snatRules(effective):
		todo = append(todo, "leave snatToUpstreamDNS and snatOutOfCluster out")
	case !*effective.EnableBPFMasquerade:
		todo = append(todo, "set enableBPFMasquerade to true")
	}
	if !*effective.EnableIPv4Masquerade {
		todo = append(todo, "set enableIpv4Masquerade to true")
	}
	return strings.Join(todo, " and ")
}

func validateLoadBalancing(found *plugin.Findings, effective *v1alpha1.NetworkConfig, in *plugin.Input, path *field.Path) {
	if *effective.LoadBalancingMode != v1alpha1.DSR || *effective.IPv4NativeRoutingCIDREnabled {
		return
	}
	reason := "dsr needs a network between the nodes that routes the pods' IPv4 range; write snat, or " + withoutTunnel(in)
	if !hasIPv4(effective) {
		reason = "dsr needs IPv4, which the network does not have; write snat"
	}
	found.Error(field.Forbidden(path.Child("loadBalancingMode"), reason))
}

// validateNativeRouting makes sure that there is a range to route. It is in the Shoot's
// status, and unknown until the Shoot has been made.
func validateNativeRouting(found *plugin.Findings, effective *v1alpha1.NetworkConfig, in *plugin.Input, path *field.Path) {
	switch {
	case routesMissingIPv6(effective, in):
		found.Error(field.Forbidden(path.Child("ipv6NativeRoutingCIDREnabled"),
			"the network has no IPv6; leave it out"))
	case *effective.IPv6NativeRoutingCIDREnabled && podRangeIPv6(in) == "" && hasIPv6(effective) && !in.Planned:
		found.Error(field.Required(field.NewPath("status", "networking", "pods"),
			"the Shoot's status does not have the pods' IPv6 range yet, which native routing needs; wait for the infrastructure, or set overlay.enabled of the network's providerConfig to true"))
	}
}

// routesMissingIPv6 reports whether the user wants IPv6 routed, which the network neither
// has nor waits for. This is an error, so no warning needs to be added.
func routesMissingIPv6(effective *v1alpha1.NetworkConfig, in *plugin.Input) bool {
	return *effective.IPv6NativeRoutingCIDREnabled && podRangeIPv6(in) == "" && !in.WantsIPFamily(extensionsv1alpha1.IPv6)
}

// validateKubeProxy refuses that two redirect DNS. The path is the Shoot's, wherever
// the config was written.
func validateKubeProxy(found *plugin.Findings, in *plugin.Input) {
	proxy := in.KubeProxy
	if proxy.Enabled && proxy.Mode == corev1beta1.ProxyModeIPVS && in.NodeLocalDNS {
		found.Error(field.Forbidden(field.NewPath("spec", "kubernetes", "kubeProxy", "mode"),
			"IPVS takes DNS requests before Cilium can redirect them to the nodes' cache (NodeLocalDNS); write IPTables, switch kube-proxy off, or switch NodeLocalDNS off"))
	}
}

func validateAPIServerAddress(found *plugin.Findings, effective *v1alpha1.NetworkConfig, in *plugin.Input) {
	if !replacesKubeProxy(in) || in.PodAccess != nil || in.Planned {
		return
	}
	if host, _ := operatorAPIServer(effective, in); host == "" {
		found.Error(field.Required(field.NewPath("status", "advertisedAddresses"),
			"without kube-proxy, cilium-operator reaches the API server by the Shoot's address named external, which is not there or no URL; wait for it, or set kubeproxy.k8sServiceHost and kubeproxy.k8sServicePort of the network's providerConfig"))
	}
}
