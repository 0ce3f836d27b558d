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
	metricsServices   = manifest.Constants(manifests, "manifests/services.yaml")
	dnsPolicies       = manifest.Constants(manifests, "manifests/policies.yaml")
	nodeLocalPolicies = manifest.Constants(manifests, "manifests/policies-nodelocaldns.yaml")
	hubblePolicies    = manifest.Constants(manifests, "manifests/policies-hubble.yaml")
)

// Components, each with its workloads.
var (
	agentObjects       = manifest.Component(manifests, "manifests/agent-daemonset.yaml", images)
	operatorObjects    = manifest.Component(manifests, "manifests/operator.yaml", images)
	envoyObjects       = manifest.Component(manifests, "manifests/envoy.yaml", images)
	relayObjects       = manifest.Component(manifests, "manifests/hubble-relay.yaml", images)
	uiObjects          = manifest.Component(manifests, "manifests/hubble-ui.yaml", images)
	certificateObjects = manifest.Component(manifests, "manifests/hubble-certificates.yaml", images)
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
