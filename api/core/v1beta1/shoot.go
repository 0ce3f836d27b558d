// SPDX-License-Identifier: Apache-2.0

package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
)

// Shoot is a user's cluster.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=shoots,scope=Namespaced
// +kubebuilder:printcolumn:name=CloudProfile,type=string,JSONPath=`.spec.cloudProfileName`
// +kubebuilder:printcolumn:name=Provider,type=string,JSONPath=`.spec.provider.type`
// +kubebuilder:printcolumn:name=Region,type=string,JSONPath=`.spec.region`
// +kubebuilder:printcolumn:name=K8S Version,type=string,JSONPath=`.spec.kubernetes.version`
// +kubebuilder:printcolumn:name=Hibernation,type=boolean,JSONPath=`.spec.hibernation.enabled`
// +kubebuilder:printcolumn:name=Last Operation,type=string,JSONPath=`.status.lastOperation.state`
// +kubebuilder:printcolumn:name=Status,type=string,JSONPath=`.status.conditions[?(@.type=="SystemComponentsHealthy")].status`
// +kubebuilder:printcolumn:name=Age,type=date,JSONPath=`.metadata.creationTimestamp`
//
// A range in the spec is immutable. If the cluster uses another range, the user can
// remove the range from the spec, or replace it by the one in use.
//
// +kubebuilder:validation:XValidation:rule="!oldSelf.spec.?networking.pods.hasValue() || self.?status.networking.pods.hasValue() && !(oldSelf.spec.networking.pods in self.status.networking.pods) || self.spec.?networking.pods.hasValue() && self.spec.networking.pods == oldSelf.spec.networking.pods",message="spec.networking.pods is immutable once set: write it as it was, or create a new cluster"
// +kubebuilder:validation:XValidation:rule="!self.spec.?networking.pods.hasValue() || !self.?status.networking.pods.hasValue() || self.spec.networking.pods in self.status.networking.pods || oldSelf.spec.?networking.pods.hasValue() && self.spec.networking.pods == oldSelf.spec.networking.pods",message="spec.networking.pods must be one of the ranges in use, which status.networking.pods has"
// +kubebuilder:validation:XValidation:rule="!oldSelf.spec.?networking.services.hasValue() || self.?status.networking.services.hasValue() && !(oldSelf.spec.networking.services in self.status.networking.services) || self.spec.?networking.services.hasValue() && self.spec.networking.services == oldSelf.spec.networking.services",message="spec.networking.services is immutable once set: write it as it was, or create a new cluster"
// +kubebuilder:validation:XValidation:rule="!self.spec.?networking.services.hasValue() || !self.?status.networking.services.hasValue() || self.spec.networking.services in self.status.networking.services || oldSelf.spec.?networking.services.hasValue() && self.spec.networking.services == oldSelf.spec.networking.services",message="spec.networking.services must be one of the ranges in use, which status.networking.services has"
type Shoot struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +kubebuilder:pruning:PreserveUnknownFields
	Spec ShootSpec `json:"spec"`
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	Status ShootStatus `json:"status,omitempty"`

	// document is the JSON that this Shoot was decoded from. It keeps the fields that
	// the type does not have.
	document []byte `json:"-"`
}

// IsHibernated reports whether the spec requests hibernation: no nodes and no control plane.
func (s *Shoot) IsHibernated() bool {
	return s.Spec.Hibernation != nil && ptr.Deref(s.Spec.Hibernation.Enabled, false)
}

// ShootList is a list of Shoots.
//
// +kubebuilder:object:root=true
type ShootList struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Shoot `json:"items"`
}

// ShootSpec is the desired state of the cluster.
//
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.region) || has(self.region) && self.region == oldSelf.region",message="region is immutable: write it as it was, or create a new cluster"
type ShootSpec struct {
	// CloudProfileName is the name of the cloud profile.
	// +optional
	CloudProfileName *string `json:"cloudProfileName,omitempty"`
	// Hibernation states whether the cluster is hibernated.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	Hibernation *Hibernation `json:"hibernation,omitempty"`
	// Kubernetes is the version and the settings of its components.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	Kubernetes Kubernetes `json:"kubernetes,omitempty"`
	// Networking is the cluster's pod network. Clusters without workers have none.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	Networking *Networking `json:"networking,omitempty"`
	// Provider is the infrastructure.
	// +kubebuilder:pruning:PreserveUnknownFields
	Provider Provider `json:"provider"`
	// Purpose of the cluster.
	// +optional
	Purpose *string `json:"purpose,omitempty"`
	// Region of the infrastructure. Immutable.
	// +optional
	Region string `json:"region,omitempty"`
	// SeedName is the seed that hosts the control plane.
	// +optional
	SeedName *string `json:"seedName,omitempty"`
	// SystemComponents are settings of the components in kube-system.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	SystemComponents *SystemComponents `json:"systemComponents,omitempty"`
}

// Hibernation states whether the cluster is hibernated.
type Hibernation struct {
	// Enabled requests hibernation.
	// +optional
	Enabled *bool `json:"enabled,omitempty"`
}

// Kubernetes is the version and the settings of Kubernetes' components.
type Kubernetes struct {
	// Version is Kubernetes' semantic version.
	// +optional
	Version string `json:"version,omitempty"`
	// KubeAPIServer are settings of the kube-apiserver.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	KubeAPIServer *KubeAPIServer `json:"kubeAPIServer,omitempty"`
	// KubeControllerManager are settings of the kube-controller-manager.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	KubeControllerManager *KubeControllerManager `json:"kubeControllerManager,omitempty"`
	// KubeProxy are settings of kube-proxy.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	KubeProxy *KubeProxy `json:"kubeProxy,omitempty"`
	// VerticalPodAutoscaler states whether the cluster has the VPA.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	VerticalPodAutoscaler *VerticalPodAutoscaler `json:"verticalPodAutoscaler,omitempty"`
}

// KubeAPIServer are settings of the kube-apiserver.
type KubeAPIServer struct {
	// FeatureGates of the component.
	// +optional
	FeatureGates map[string]bool `json:"featureGates,omitempty"`
	// RuntimeConfig enables or disables APIs.
	// +optional
	RuntimeConfig map[string]bool `json:"runtimeConfig,omitempty"`
}

// KubeControllerManager are settings of the kube-controller-manager.
//
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.nodeCIDRMaskSize) || has(self.nodeCIDRMaskSize) && self.nodeCIDRMaskSize == oldSelf.nodeCIDRMaskSize",message="nodeCIDRMaskSize is immutable: write it as it was, or create a new cluster"
type KubeControllerManager struct {
	// NodeCIDRMaskSize is the prefix length of each node's pod range, 24 if
	// absent. Immutable.
	// +optional
	NodeCIDRMaskSize *int32 `json:"nodeCIDRMaskSize,omitempty"`
}

// ProxyMode is the mode of kube-proxy.
type ProxyMode string

// The modes of kube-proxy. IPTables is the default.
const (
	ProxyModeIPTables ProxyMode = "IPTables"
	ProxyModeIPVS     ProxyMode = "IPVS"
	ProxyModeNFTables ProxyMode = "NFTables"
)

// KubeProxy are settings of kube-proxy.
type KubeProxy struct {
	// Enabled states whether the cluster has kube-proxy. If absent, it has.
	// +optional
	Enabled *bool `json:"enabled,omitempty"`
	// Mode is the mode of kube-proxy, IPTables if absent.
	// +optional
	Mode *ProxyMode `json:"mode,omitempty"`
}

// VerticalPodAutoscaler states whether the cluster has the VPA.
type VerticalPodAutoscaler struct {
	// Enabled states whether the cluster has the VPA.
	Enabled bool `json:"enabled"`
}

// Networking is the cluster's pod network.
//
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.type) || has(self.type)",message="type cannot be removed: write it as it was"
// +kubebuilder:validation:XValidation:rule="(has(self.ipFamilies) ? self.ipFamilies : ['IPv4']) == (has(oldSelf.ipFamilies) ? oldSelf.ipFamilies : ['IPv4']) || [(has(self.ipFamilies) ? self.ipFamilies : ['IPv4']), (has(oldSelf.ipFamilies) ? oldSelf.ipFamilies : ['IPv4'])].all(each, each == ['IPv4'] || each == ['IPv4', 'IPv6'])",message="ipFamilies can only change from [IPv4] to [IPv4, IPv6] and back"
type Networking struct {
	// Type names the network plugin. Immutable.
	// +optional
	Type *string `json:"type,omitempty"`
	// ProviderConfig is the plugin's own configuration.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	ProviderConfig *runtime.RawExtension `json:"providerConfig,omitempty"`
	// Pods is the pods' range, 100.96.0.0/11 if absent. Immutable once in use.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Pods *string `json:"pods,omitempty"`
	// Nodes is the nodes' range.
	// +optional
	Nodes *string `json:"nodes,omitempty"`
	// Services is the Services' range, 100.64.0.0/13 if absent. Immutable once in
	// use.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Services *string `json:"services,omitempty"`
	// IPFamilies are the desired families, [IPv4] if absent. They can change from [IPv4] to
	// [IPv4, IPv6], and back.
	// +optional
	IPFamilies []string `json:"ipFamilies,omitempty"`
}

// Provider is the infrastructure.
//
// +kubebuilder:validation:XValidation:rule="self.type == oldSelf.type",message="type is immutable: write it as it was, or create a new cluster"
type Provider struct {
	// Type of the infrastructure, for example azure. Immutable.
	Type string `json:"type"`
	// InfrastructureConfig is the provider's own configuration.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	InfrastructureConfig *runtime.RawExtension `json:"infrastructureConfig,omitempty"`
	// ControlPlaneConfig is the provider's own configuration.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	ControlPlaneConfig *runtime.RawExtension `json:"controlPlaneConfig,omitempty"`
	// Workers are the groups of nodes.
	// +optional
	Workers []Worker `json:"workers,omitempty"`
}

// Worker is a group of nodes.
//
// +kubebuilder:pruning:PreserveUnknownFields
type Worker struct {
	// Name of the group.
	Name string `json:"name"`
	// Minimum is the smallest number of nodes.
	// +optional
	Minimum int32 `json:"minimum,omitempty"`
	// Maximum is the largest number of nodes.
	// +optional
	Maximum int32 `json:"maximum,omitempty"`
	// MaxSurge is how many nodes more than Maximum there may be while the group's nodes are
	// replaced: a number, or a percentage of them.
	// +optional
	MaxSurge *intstr.IntOrString `json:"maxSurge,omitempty"`
	// Zones of the nodes.
	// +optional
	Zones []string `json:"zones,omitempty"`
}

// SystemComponents are settings of the components in kube-system.
type SystemComponents struct {
	// NodeLocalDNS is the DNS cache on the nodes.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	NodeLocalDNS *NodeLocalDNS `json:"nodeLocalDNS,omitempty"`
}

// NodeLocalDNS is the DNS cache on the nodes.
type NodeLocalDNS struct {
	// Enabled states whether the nodes have the cache.
	Enabled bool `json:"enabled"`
}

// ShootStatus is the observed state of the cluster.
//
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.technicalID) || has(self.technicalID) && self.technicalID == oldSelf.technicalID",message="technicalID is immutable"
type ShootStatus struct {
	// AdvertisedAddresses are the addresses of the cluster's API server.
	// +optional
	AdvertisedAddresses []AdvertisedAddress `json:"advertisedAddresses,omitempty"`
	// Conditions are aspects of the cluster's health.
	// +optional
	Conditions []Condition `json:"conditions,omitempty"`
	// Constraints are conditions that prevent certain operations.
	// +optional
	Constraints []Condition `json:"constraints,omitempty"`
	// Hibernated reports whether the cluster is hibernated now.
	// +optional
	Hibernated bool `json:"hibernated,omitempty"`
	// LastErrors are the errors of the last operation.
	// +optional
	LastErrors []LastError `json:"lastErrors,omitempty"`
	// LastOperation describes the last operation.
	// +optional
	LastOperation *LastOperation `json:"lastOperation,omitempty"`
	// Networking are the ranges that the cluster uses.
	// +optional
	Networking *NetworkingStatus `json:"networking,omitempty"`
	// ObservedGeneration is the generation of the spec that the status is about.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// TechnicalID is the name of the control-plane namespace. Immutable.
	// +optional
	TechnicalID string `json:"technicalID,omitempty"`
}

// AdvertisedAddress is an address of a cluster's API server.
type AdvertisedAddress struct {
	// Name of the address, for example external or internal.
	Name string `json:"name"`
	// URL of the API server.
	URL string `json:"url"`
}

// NetworkingStatus are the ranges that a cluster uses, of all families.
type NetworkingStatus struct {
	// Pods are the pods' ranges.
	// +optional
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=64
	Pods []string `json:"pods,omitempty"`
	// Nodes are the nodes' ranges.
	// +optional
	Nodes []string `json:"nodes,omitempty"`
	// Services are the Services' ranges.
	// +optional
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=64
	Services []string `json:"services,omitempty"`
}
