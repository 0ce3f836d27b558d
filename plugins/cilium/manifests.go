// SPDX-License-Identifier: Apache-2.0

package cilium

import (
	"embed"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/plugin/manifest"
	"github.com/trellis-network/trellis/plugin/system"
)

//go:embed manifests
var manifests embed.FS

// Objects that are the same in every network that has them.
var (
	labelPrefixes     = manifest.Constants(manifests, "manifests/label-prefix.yaml")
	agentIdentity     = manifest.Constants(manifests, "manifests/agent.yaml")
	agentRole         = manifest.Constants(manifests, "manifests/agent-role.yaml")
	operatorAccess    = manifest.Constants(manifests, "manifests/operator.yaml")
	envoyConstants    = manifest.Constants(manifests, "manifests/envoy.yaml")
	metricsServices   = manifest.Constants(manifests, "manifests/services.yaml")
	relayConstants    = manifest.Constants(manifests, "manifests/hubble-relay.yaml")
	uiConstants       = manifest.Constants(manifests, "manifests/hubble-ui.yaml")
	certificateAccess = manifest.Constants(manifests, "manifests/hubble-certificates.yaml")
	dnsPolicies       = manifest.Constants(manifests, "manifests/policies.yaml")
	nodeLocalPolicies = manifest.Constants(manifests, "manifests/policies-nodelocaldns.yaml")
	hubblePolicies    = manifest.Constants(manifests, "manifests/policies-hubble.yaml")
)

// Objects to which the config or the facts add something.
var (
	fixedConfig   = manifest.Constants(manifests, "manifests/cilium-config.yaml")
	cachePolicies = manifest.Constants(manifests, "manifests/nodelocaldns.yaml")
)

// labelPrefixSum is the checksum by which agents restart.
var labelPrefixSum = sync.OnceValue(func() string { return system.Checksum(copyOf[*corev1.ConfigMap](labelPrefixes())) })

// announcingAgentRole also allows the leases by which agents agree who announces a Service.
var announcingAgentRole = sync.OnceValue(func() []plugin.Object {
	role := copyOf[*rbacv1.ClusterRole](agentRole())
	role.Rules = append(role.Rules, system.Rule("coordination.k8s.io", []string{"leases"}, "create", "get", "update", "list", "delete"))
	return plugin.Constants(role)
})

// copyOf returns a copy of the only object.
func copyOf[T plugin.Object](constants []plugin.Object) T { return constants[0].DeepCopyObject().(T) }

// access is the identity and the rights of what runs on every node.
func (a agent) access() []plugin.Object {
	if a.config.L2Announcements.Enabled {
		return slices.Concat(agentIdentity(), announcingAgentRole())
	}
	return slices.Concat(agentIdentity(), agentRole())
}

// policies are objects of kinds that the operator brings.
func (n *network) policies() []plugin.Object {
	objects := slices.Clone(dnsPolicies())
	if n.in.NodeLocalDNS {
		objects = slices.Concat(objects, nodeLocalPolicies())
	}
	if n.config.Hubble.Enabled {
		objects = slices.Concat(objects, hubblePolicies())
	}
	return objects
}

// cachePoliciesOf are the cache's policies in a version that the API server has. The
// versions differ in nothing that is used here.
func cachePoliciesOf(apiVersion string) []plugin.Object {
	var objects []plugin.Object
	for _, constant := range cachePolicies() {
		object := constant.DeepCopyObject().(plugin.Object)
		kind := object.GetObjectKind().GroupVersionKind().Kind
		object.GetObjectKind().SetGroupVersionKind(schema.FromAPIVersionAndKind(apiVersion, kind))
		objects = append(objects, object)
	}
	return objects
}
