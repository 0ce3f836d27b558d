// SPDX-License-Identifier: Apache-2.0

package plugin

import "slices"

// Fact is one of the Facts that may change while the network's config stays as it is. Its
// name is the path of the Shoot's field that states it.
type Fact string

// These are all of them. Facts that never change in a cluster are not among them.
const (
	FactIPFamilies        Fact = "spec.networking.ipFamilies"
	FactKubernetesVersion Fact = "spec.kubernetes.version"
	FactKubeProxy         Fact = "spec.kubernetes.kubeProxy.enabled"
	FactKubeProxyMode     Fact = "spec.kubernetes.kubeProxy.mode"
	FactVPA               Fact = "spec.kubernetes.verticalPodAutoscaler.enabled"
	FactNodeLocalDNS      Fact = "spec.systemComponents.nodeLocalDNS.enabled"
	FactNodeRange         Fact = "spec.networking.nodes"
	FactPodRanges         Fact = "status.networking.pods"
	FactServiceRanges     Fact = "status.networking.services"
	FactNodeRanges        Fact = "status.networking.nodes"
	FactAPIServer         Fact = "status.advertisedAddresses"
)

// AllFacts returns the facts above, in their order.
func AllFacts() []Fact {
	return []Fact{
		FactIPFamilies, FactKubernetesVersion, FactKubeProxy, FactKubeProxyMode, FactVPA,
		FactNodeLocalDNS, FactNodeRange, FactPodRanges, FactServiceRanges, FactNodeRanges, FactAPIServer,
	}
}

// Value returns a fact as a bool, a string or a list of strings; nil if it is not known.
func (f *Facts) Value(fact Fact) any {
	switch fact {
	case FactIPFamilies:
		return words(f.IPFamilies)
	case FactKubernetesVersion:
		return word(f.KubernetesVersion)
	case FactKubeProxy:
		return f.KubeProxy.Enabled
	case FactKubeProxyMode:
		return word(string(f.KubeProxy.Mode))
	case FactVPA:
		return f.VPA
	case FactNodeLocalDNS:
		return f.NodeLocalDNS
	case FactNodeRange:
		return word(f.NodeCIDR)
	case FactPodRanges:
		return words(f.PodCIDRs)
	case FactServiceRanges:
		return words(f.ServiceCIDRs)
	case FactNodeRanges:
		return words(f.NodeCIDRs)
	case FactAPIServer:
		return word(f.APIServer.ExternalHost)
	}
	return nil
}

func word(text string) any {
	if text == "" {
		return nil
	}
	return text
}

// words returns a copy, so that callers cannot change the facts.
func words[T ~string](list []T) any {
	if len(list) == 0 {
		return nil
	}
	return slices.Clone(list)
}
