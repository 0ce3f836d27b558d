// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"slices"

	utilversion "k8s.io/apimachinery/pkg/util/version"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
)

// Facts are what is known of a cluster and its infrastructure, and nothing else. A
// network keeps the facts that it was applied for.
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

	// KubeProxy reports whether and how kube-proxy runs.
	KubeProxy KubeProxy `json:"kubeProxy"`
	// NodeLocalDNS reports whether the nodes have a DNS cache.
	NodeLocalDNS bool `json:"nodeLocalDNS,omitempty"`
	// VPA reports whether the shoot has the vertical pod autoscaler.
	VPA bool `json:"vpa,omitempty"`
	// Hibernated reports that the cluster and its API server do not run.
	Hibernated bool `json:"hibernated,omitempty"`
	// NodesAtLeast and NodesAtMost are the numbers of nodes that the workers can
	// shrink and grow to; 0 if unknown.
	NodesAtLeast int32 `json:"nodesAtLeast,omitempty"`
	NodesAtMost  int32 `json:"nodesAtMost,omitempty"`
	// NodesInSurge is how many nodes more than NodesAtMost there may be while all workers are
	// replaced; 0 if unknown.
	NodesInSurge int32 `json:"nodesInSurge,omitempty"`
	// NodeCIDRMaskSize is the prefix length of each node's range of pods, as the Shoot states
	// it; 0 if it does not, which means 24.
	NodeCIDRMaskSize int32 `json:"nodeCIDRMaskSize,omitempty"`
	// APIServer are settings of the shoot's kube-apiserver.
	APIServer APIServer `json:"apiServer"`

	// Inherited is what depends on how a running network was made and not on its config.
	Inherited `json:",inline"`
	// Planned reports that the cluster is not being made yet, as far as is known. Its
	// status may be missing then, which is no error.
	Planned bool `json:"planned,omitempty"`

	// Infrastructure is what the infrastructure allows.
	Infrastructure Infrastructure `json:"infrastructure"`
}

// KubeProxy reports whether and how kube-proxy runs.
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

// HasIPFamily reports whether the network has to deploy family now.
func (f *Facts) HasIPFamily(family extensionsv1alpha1.IPFamily) bool {
	return slices.Contains(f.IPFamilies, family)
}

// WantsIPFamily reports whether the network has to deploy family, now or in the end.
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
	// NoIPIP reports that the network between the nodes drops IP-in-IP packets.
	NoIPIP bool `json:"noIPIP,omitempty"`
	// PodRoutes reports that a controller of the cloud makes routes to the nodes'
	// pod ranges, so that pods can talk without encapsulation.
	PodRoutes bool `json:"podRoutes,omitempty"`
	// NoPodRoutes reports that nothing makes such routes but the network itself. Of an
	// unknown infrastructure neither is known.
	NoPodRoutes bool `json:"noPodRoutes,omitempty"`
	// PodRouter names what makes the routes in a landscape, for users: "the
	// cloud-controller-manager". It is empty standalone, where that is not known.
	PodRouter string `json:"podRouter,omitempty"`
	// MaxPodRoutes is how many routes a route table takes, one for each node, as long as the
	// owner of the account has not had it raised; 0 if that is not known.
	MaxPodRoutes int32 `json:"maxPodRoutes,omitempty"`
	// OverlayOff reports that Gardener's provider extension turns the overlay of new clusters
	// off unless their users ask for one.
	OverlayOff bool `json:"overlayOff,omitempty"`
	// CreatePodRoutes reports that this extension has networks without overlay make the routes
	// themselves (overlay.createPodRoutes): all nodes are in one layer 2 segment.
	CreatePodRoutes bool `json:"createPodRoutes,omitempty"`
	// NoUpstreamDNSSNAT reports that this extension turns off in networks without overlay that
	// pods' requests to the infrastructure's DNS servers are masqueraded (snatToUpstreamDNS).
	NoUpstreamDNSSNAT bool `json:"noUpstreamDNSSNAT,omitempty"`
	// ReadsOverlay are the network types in whose Shoots this extension reads overlay.enabled: it
	// fails on an overlay that does not state it. There are none standalone, without the extension.
	ReadsOverlay []string `json:"readsOverlay,omitempty"`
	// RefusesOverlay are those of which this extension refuses overlay.enabled: true.
	RefusesOverlay []string `json:"refusesOverlay,omitempty"`
	// OwnNetwork reports that no other cluster has nodes in the network of this
	// cluster's nodes, so that no other pod range can overlap with this cluster's. False
	// means that this is not known.
	OwnNetwork bool `json:"ownNetwork,omitempty"`
	// VirtualFunctions reports that nodes show interfaces named enP… beside their main
	// ones, which carry part of the same traffic and must not be touched.
	VirtualFunctions bool `json:"virtualFunctions,omitempty"`
}

// Provider states the facts of one kind of infrastructure. It never edits a
// config: what follows from its facts is the plugin's affair.
type Provider interface {
	// Type is the value of Shoot.spec.provider.type, or of Network.spec.cloudProvider, that
	// the provider answers to.
	Type() string
	// Infrastructure returns what the infrastructure of the shoot allows. The
	// shoot is nil where only a Network is known.
	Infrastructure(shoot *corev1beta1.Shoot) Infrastructure
}
