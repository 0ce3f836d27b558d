// SPDX-License-Identifier: Apache-2.0

package cilium

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/plugin/system"
)

// The DNS cache of each node (NodeLocalDNS) is made for the nodes' own network, where it
// takes over the address of the cluster's DNS. Cilium sends pods' requests to the cache's
// pod, which therefore has to be in the pod network and must not touch the node's
// interfaces and iptables. Gardener or, standalone, the user writes its DaemonSet and
// ConfigMaps. So the API server must change them when it receives them: by its own policies
// where it has them (manifests/nodelocaldns.yaml), else by a webhook that asks Trellis
// (nodelocaldns_webhook.go and, for its answer, nodelocaldns_adapt.go). Both have the
// same rules. Every network has them, since the cluster may get or lose a cache without
// a change of the network.
const (
	nodeLocalDNS = "node-local-dns"

	// cacheConfigPrefix and cachePrefix begin the names of the cache's ConfigMaps and
	// DaemonSets.
	cacheConfigPrefix = nodeLocalDNS + "-"
	cachePrefix       = nodeLocalDNS

	corefileKey = "Corefile"

	cacheContainer   = "node-cache"
	adapterContainer = "coredns-config-adapter"

	// bindEverywhere is what a server in the pod network binds to, and bindOption
	// the option that tells adapterContainer so.
	bindEverywhere = "bind 0.0.0.0"
	bindOption     = "bind="
)

// cacheOptions keep the cache from the node's interfaces and iptables. What the cache
// is told about them otherwise begins with one of cacheOptionPrefixes.
var (
	cacheOptions        = []string{"-skipteardown=true", "-setupinterface=false", "-setupiptables=false"}
	cacheOptionPrefixes = prefixesOf(cacheOptions)
)

func prefixesOf(options []string) []string {
	prefixes := make([]string, len(options))
	for i, option := range options {
		prefixes[i], _, _ = strings.Cut(option, "=")
	}
	return prefixes
}

// warnUnadapted warns users who want a cache that would not work.
func warnUnadapted(found *plugin.Findings, in *plugin.Input) {
	if in.NodeLocalDNS && !in.Planned && in.Webhook == nil && in.MutatingAdmissionPolicies() == "" {
		found.Warn(field.NewPath("spec", "systemComponents", "nodeLocalDNS", "enabled"),
			"pods cannot resolve names as long as nothing changes the cache (NodeLocalDNS) to work beside Cilium: let Trellis' operator serve webhooks (webhooks in its configuration), raise the Shoot to Kubernetes 1.36, or write false")
	}
}

// nodeLocalAdmission is what changes the cache's objects: policies, a webhook, or nothing
// if the API server supports no policies and Trellis serves no webhook.
func nodeLocalAdmission(in *plugin.Input) []plugin.Object {
	switch version := in.MutatingAdmissionPolicies(); {
	case version != "":
		return cachePoliciesOf(version)
	case in.Webhook != nil:
		return []plugin.Object{cacheWebhook(in)}
	default:
		return nil
	}
}

// ofCaches selects all that belongs to the cache.
func ofCaches() *metav1.LabelSelector { return system.Selecting(system.App(nodeLocalDNS)) }
