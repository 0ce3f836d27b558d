// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"cmp"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
)

// IPFamily is an IP family in Kubernetes' spelling.
type IPFamily string

// The IP families.
const (
	IPv4 IPFamily = "IPv4"
	IPv6 IPFamily = "IPv6"
)

// ExtensionClass is the kind of cluster that an extension object is for.
type ExtensionClass string

// ExtensionClassShoot is the class of objects for a shoot, and of those without a class.
const ExtensionClassShoot ExtensionClass = "shoot"

// NetworkFinalizer is the finalizer of a Network as long as its objects may exist in
// the shoot.
const NetworkFinalizer = "extensions.gardener.cloud/network"

// Network describes the pod network of a cluster. Each shoot has one, in its
// control-plane namespace in the seed.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=networks,scope=Namespaced
// +kubebuilder:printcolumn:name=Type,type=string,JSONPath=`.spec.type`,description="The type of the network plugin."
// +kubebuilder:printcolumn:name=Pod CIDR,type=string,JSONPath=`.spec['podCIDR','clusterCIDR']`,description="The CIDR used for pods."
// +kubebuilder:printcolumn:name=Service CIDR,type=string,JSONPath=`.spec.serviceCIDR`,description="The CIDR used for services."
// +kubebuilder:printcolumn:name=Status,type=string,JSONPath=`.status.lastOperation.state`,description="State of the last operation."
// +kubebuilder:printcolumn:name=Age,type=date,JSONPath=`.metadata.creationTimestamp`,description="Time since creation."
type Network struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is the desired pod network. Trellis never changes it.
	Spec NetworkSpec `json:"spec"`
	// Status has the configuration in force and the health of the network.
	// +optional
	Status NetworkStatus `json:"status,omitempty"`
}

// NetworkList is a list of Networks.
//
// +kubebuilder:object:root=true
type NetworkList struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Network `json:"items"`
}

// NetworkSpec is the desired pod network.
//
// The field of the pod range has two names: podCIDR, and clusterCIDR as in the first
// proposal. One of them is required. The range is immutable.
//
// +kubebuilder:validation:XValidation:rule="has(self.podCIDR) || has(self.clusterCIDR)",message="podCIDR is required (clusterCIDR is an older spelling of it)"
// +kubebuilder:validation:XValidation:rule="(has(self.podCIDR) ? self.podCIDR : self.clusterCIDR) == (has(oldSelf.podCIDR) ? oldSelf.podCIDR : oldSelf.clusterCIDR)",message="podCIDR (or clusterCIDR) is immutable: write it as it was, or create a new cluster"
// +kubebuilder:validation:XValidation:rule="self.serviceCIDR == oldSelf.serviceCIDR",message="serviceCIDR is immutable: write it as it was, or create a new cluster"
// +kubebuilder:validation:XValidation:rule="(has(self.ipFamilies) ? self.ipFamilies : ['IPv4']) == (has(oldSelf.ipFamilies) ? oldSelf.ipFamilies : ['IPv4']) || [(has(self.ipFamilies) ? self.ipFamilies : ['IPv4']), (has(oldSelf.ipFamilies) ? oldSelf.ipFamilies : ['IPv4'])].all(each, each == ['IPv4'] || each == ['IPv4', 'IPv6'])",message="ipFamilies can only change from [IPv4] to [IPv4, IPv6] and back"
type NetworkSpec struct {
	// Type names the plugin, for example calico. Immutable.
	Type string `json:"type"`
	// Class is the kind of cluster that the object is for, shoot if absent.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="Value is immutable"
	Class *ExtensionClass `json:"class,omitempty"`
	// ProviderConfig is the plugin's own configuration, verbatim.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	ProviderConfig *runtime.RawExtension `json:"providerConfig,omitempty"`
	// PodCIDR is the range of the pods' addresses. Immutable. With two IP families it is
	// the IPv4 range.
	// +optional
	PodCIDR string `json:"podCIDR,omitempty"`
	// ServiceCIDR is the range of the cluster's Services. Immutable.
	ServiceCIDR string `json:"serviceCIDR"`
	// IPFamilies are the desired families, the primary one first. None means IPv4. They can
	// change from IPv4 to both, and back.
	// +optional
	IPFamilies []IPFamily `json:"ipFamilies,omitempty"`

	// ClusterCIDR is the name of podCIDR in the first proposal.
	// +optional
	ClusterCIDR string `json:"clusterCIDR,omitempty"`
	// CloudProvider is the type of the infrastructure, as in the first proposal. Trellis
	// uses it if the Cluster has no infrastructure.
	// +optional
	CloudProvider string `json:"cloudProvider,omitempty"`
}

// RequestedOperation returns the operation that the annotation asks for, empty if it asks
// for none that concerns a Network.
func (n *Network) RequestedOperation() string {
	switch operation := n.Annotations[OperationAnnotation]; operation {
	case OperationReconcile, OperationMigrate, OperationRestore:
		return operation
	}
	return ""
}

// HasSucceeded reports whether the last operation has succeeded.
func (n *Network) HasSucceeded() bool {
	return n.Status.LastOperation != nil && n.Status.LastOperation.State == corev1beta1.LastOperationStateSucceeded
}

// EffectivePodCIDR returns the pod range: PodCIDR, or else ClusterCIDR.
func (s *NetworkSpec) EffectivePodCIDR() string { return cmp.Or(s.PodCIDR, s.ClusterCIDR) }

// NetworkStatus is the observed state of the pod network.
type NetworkStatus struct {
	// ProviderStatus is the plugin's own status.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	ProviderStatus *runtime.RawExtension `json:"providerStatus,omitempty"`
	// Conditions are the results of health checks.
	// +optional
	Conditions []corev1beta1.Condition `json:"conditions,omitempty"`
	// LastError is absent after a success.
	// +optional
	LastError *corev1beta1.LastError `json:"lastError,omitempty"`
	// LastOperation describes the last operation and its result.
	// +optional
	LastOperation *corev1beta1.LastOperation `json:"lastOperation,omitempty"`
	// ObservedGeneration is the generation of the last success or error.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// State is for the controller alone. It moves with the control plane to another
	// seed.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	State *runtime.RawExtension `json:"state,omitempty"`
	// Resources are objects in the same namespace that move along with the control
	// plane.
	// +optional
	Resources []NamedResourceReference `json:"resources,omitempty"`
	// IPFamilies are the families that are deployed now. They differ from the
	// spec's while a cluster migrates to or from dual-stack.
	// +optional
	IPFamilies []IPFamily `json:"ipFamilies,omitempty"`
}

// NamedResourceReference is a named reference to an object.
type NamedResourceReference struct {
	// Name of the reference.
	Name string `json:"name"`
	// ResourceRef is the referenced object.
	ResourceRef CrossVersionObjectReference `json:"resourceRef"`
}

// CrossVersionObjectReference names an object in the same namespace.
type CrossVersionObjectReference struct {
	// Kind of the object.
	Kind string `json:"kind"`
	// Name of the object.
	Name string `json:"name"`
	// APIVersion of the object.
	// +optional
	APIVersion string `json:"apiVersion,omitempty"`
}
