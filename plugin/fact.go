// SPDX-License-Identifier: Apache-2.0

package plugin

import "slices"

// Fact is something that is known of a cluster and may change while its network runs,
// though the network's config stays as it is. It is called by the field of the Shoot
// that tells it.
type Fact string

// These are all of them. What never changes in a cluster is not among them, nor what
// is the operator's affair.
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

// AllFacts are the facts above, in their order.
func AllFacts() []Fact {
	return []Fact{
		FactIPFamilies, FactKubernetesVersion, FactKubeProxy, FactKubeProxyMode, FactVPA,
		FactNodeLocalDNS, FactNodeRange, FactPodRanges, FactServiceRanges, FactNodeRanges, FactAPIServer,
	}
}

// Value is what is known of a fact: a switch, a word or a list of words; nil if nothing
// is.
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

// words are a copy: whoever gets it must not change the facts.
func words[T ~string](list []T) any {
	if len(list) == 0 {
		return nil
	}
	return slices.Clone(list)
}

// FactClassifier is implemented by a Definition whose networks are made otherwise when a
// fact changes, and not only when their config does.
type FactClassifier[C any] interface {
	// ClassifyFact says what it means for a running network that a fact changes, and
	// why, in one sentence without a period. An empty class means that it makes no
	// difference to this network, or none that Classify does not tell of already.
	//
	// That a network may only get IPv6 beside IPv4, and give it back, is not for
	// plugins to say: the pipeline refuses all else.
	ClassifyFact(fact Fact, before, after Situation[C]) (ChangeClass, string)
}

// SituationClassifier is implemented by a Definition for whose networks a value means
// something else in another cluster: nothing at all, where what it is about does not run.
type SituationClassifier[C any] interface {
	// ClassifyIn is asked before Classify, which tells what its parameters are, and has
	// the facts as well: those that the network was applied for, and those of today. An
	// empty class leaves the change to Classify.
	ClassifyIn(path string, before, after Situation[C]) (ChangeClass, string)
}

// Situation is a network in its cluster: what is in force there, and what is known.
type Situation[C any] struct {
	Config *C
	Facts  *Facts
}
