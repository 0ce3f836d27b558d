// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"slices"

	utilversion "k8s.io/apimachinery/pkg/util/version"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
)

// Facts are what a plugin may know of the cluster that it makes a network for.
// They are values only: a Request with all its facts can be written to a file
// and replayed.
type Facts struct {
	// Namespace is the control-plane namespace in the seed.
	Namespace string `json:"namespace"`
	// KubernetesVersion is the shoot's version, without a leading v.
	KubernetesVersion string `json:"kubernetesVersion"`

	// PodCIDR is the pods' range; for dual-stack the IPv4 one.
	PodCIDR string `json:"podCIDR"`
	// ServiceCIDR is the Services' range; for dual-stack the IPv4 one.
	ServiceCIDR string `json:"serviceCIDR"`
	// NodeCIDR is the nodes' range as the Shoot's spec states it, or empty.
	NodeCIDR string `json:"nodeCIDR,omitempty"`
	// PodCIDRs, ServiceCIDRs and NodeCIDRs are the ranges of all families that
	// the Shoot's status reports, or empty.
	PodCIDRs     []string `json:"podCIDRs,omitempty"`
	ServiceCIDRs []string `json:"serviceCIDRs,omitempty"`
	NodeCIDRs    []string `json:"nodeCIDRs,omitempty"`
	// IPFamilies are the families to deploy now, the primary one first; never
	// empty. During a migration to dual-stack they are fewer than wanted.
	IPFamilies []extensionsv1alpha1.IPFamily `json:"ipFamilies"`
	// WantedIPFamilies are the families that the network is to have in the end;
	// empty means IPFamilies.
	WantedIPFamilies []extensionsv1alpha1.IPFamily `json:"wantedIPFamilies,omitempty"`

	// KubeProxy says whether and how kube-proxy runs.
	KubeProxy KubeProxy `json:"kubeProxy"`
	// NodeLocalDNS says whether the nodes have a DNS cache.
	NodeLocalDNS bool `json:"nodeLocalDNS,omitempty"`
	// VPA says whether the shoot has the vertical pod autoscaler.
	VPA bool `json:"vpa,omitempty"`
	// Hibernated says that the cluster sleeps, and its API server with it.
	Hibernated bool `json:"hibernated,omitempty"`
	// NodesAtLeast and NodesAtMost are the numbers of nodes that the workers can
	// shrink and grow to; 0 if unknown.
	NodesAtLeast int32 `json:"nodesAtLeast,omitempty"`
	NodesAtMost  int32 `json:"nodesAtMost,omitempty"`
	// Nodes is the number of nodes that there are; 0 if unknown.
	Nodes int32 `json:"nodes,omitempty"`
	// MaxUnavailable is on how many nodes the network's agents may be missing during a
	// roll-out. Build works it out of the number of nodes; an annotation goes before.
	MaxUnavailable int32 `json:"maxUnavailable,omitempty"`
	// APIServer are settings of the shoot's kube-apiserver.
	APIServer APIServer `json:"apiServer"`

	// IPAM is who gives pods their addresses in a network that runs, in the plugin's
	// own word, where it depends on how the network was made and not on its config:
	// see Adopter. Empty is what new networks have.
	IPAM string `json:"ipam,omitempty"`
	// Planned says that nobody has begun to make the cluster yet, as far as is known.
	// What its status will tell may be missing then, which is no error.
	Planned bool `json:"planned,omitempty"`

	// Infrastructure is what the infrastructure allows.
	Infrastructure Infrastructure `json:"infrastructure"`

	// FeatureGates are the operator's, by name; one that is absent is off.
	FeatureGates map[string]bool `json:"featureGates,omitempty"`
	// Images replaces images, by the name in the plugin's images.yaml.
	Images map[string]string `json:"images,omitempty"`

	// Webhook is how the shoot's API server reaches the network's Mutator, where the
	// plugin has one. Absent means that nobody serves it.
	Webhook *Webhook `json:"webhook,omitempty"`

	// PodAccess is set where nobody but Trellis gives the network's pods access
	// to their API server. Plugins need not look at it: the pipeline does.
	PodAccess *PodAccess `json:"podAccess,omitempty"`
}

// KubeProxy says whether and how kube-proxy runs.
type KubeProxy struct {
	Enabled bool                  `json:"enabled"`
	Mode    corev1beta1.ProxyMode `json:"mode,omitempty"`
}

// APIServer are settings of a kube-apiserver.
type APIServer struct {
	// ExternalHost is the host by which it is reached from anywhere; empty if unknown.
	ExternalHost  string          `json:"externalHost,omitempty"`
	FeatureGates  map[string]bool `json:"featureGates,omitempty"`
	RuntimeConfig map[string]bool `json:"runtimeConfig,omitempty"`
}

// PodAccess is how the pods of a network reach their API server before the
// network works.
type PodAccess struct {
	// Host and Port are those of the API server, from outside of the cluster's
	// Services.
	Host string `json:"host"`
	Port string `json:"port"`
}

// Webhook is what a webhook configuration says of whoever serves it.
type Webhook struct {
	// URL is the whole address, with https.
	URL string `json:"url"`
	// CABundle are the certificates, in PEM, of which one has signed the server's.
	CABundle []byte `json:"caBundle"`
}

// HasIPFamily says whether family is to be deployed.
func (f *Facts) HasIPFamily(family extensionsv1alpha1.IPFamily) bool {
	return slices.Contains(f.IPFamilies, family)
}

// WantsIPFamily says whether family is to be deployed, now or in the end.
func (f *Facts) WantsIPFamily(family extensionsv1alpha1.IPFamily) bool {
	return f.HasIPFamily(family) || slices.Contains(f.WantedIPFamilies, family)
}

// MutatingAdmissionPolicies is the API version in which the shoot's API server has
// them: from Kubernetes 1.36 on always, before that with the gate and one of the
// versions, of which v1beta1 has them since 1.34 (KEP-3962). It is empty where there are
// none.
func (f *Facts) MutatingAdmissionPolicies() string {
	v, err := utilversion.ParseGeneric(f.KubernetesVersion)
	if err == nil && v.AtLeast(utilversion.MajorMinor(1, 36)) {
		return admissionGroup + "v1"
	}
	if !f.APIServer.FeatureGates["MutatingAdmissionPolicy"] {
		return ""
	}
	versions := []string{admissionGroup + "v1beta1", admissionGroup + "v1alpha1"}
	if err == nil && v.LessThan(utilversion.MajorMinor(1, 34)) {
		versions = versions[1:]
	}
	for _, version := range versions {
		if f.APIServer.RuntimeConfig[version] {
			return version
		}
	}
	return ""
}

const admissionGroup = "admissionregistration.k8s.io/"

// Infrastructure is what an infrastructure allows, in neutral words. The zero
// value allows everything and demands nothing.
type Infrastructure struct {
	// Type is the provider's type, for example local; empty if unknown.
	Type string `json:"type"`
	// NoIPIP says that the network between the nodes drops IP-in-IP packets.
	NoIPIP bool `json:"noIPIP,omitempty"`
	// PodRoutes says that a controller of the cloud makes routes to the nodes'
	// pod ranges, so that pods can talk without encapsulation.
	PodRoutes bool `json:"podRoutes,omitempty"`
	// OwnNetwork says that no other cluster has nodes in the network of this
	// cluster's nodes, so that nobody else's pod range can get in its way. False
	// means that nobody knows.
	OwnNetwork bool `json:"ownNetwork,omitempty"`
	// VirtualFunctions says that nodes show interfaces named enP… beside their main
	// ones, which carry part of the same traffic and are not to be touched.
	VirtualFunctions bool `json:"virtualFunctions,omitempty"`
}

// Provider states the facts of one kind of infrastructure. It never edits a
// config: what follows from its facts is the plugin's affair.
type Provider interface {
	// Type is the value of Shoot.spec.provider.type that the provider answers to.
	Type() string
	// Infrastructure returns what the infrastructure of the shoot allows. The
	// shoot is nil where only a Network is known.
	Infrastructure(shoot *corev1beta1.Shoot) Infrastructure
}
