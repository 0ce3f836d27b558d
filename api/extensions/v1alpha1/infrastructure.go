// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
)

// DefaultSpec is what the specs of all kinds of extensions have.
type DefaultSpec struct {
	// Type names the extension, for example aws. Immutable.
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="Value is immutable"
	Type string `json:"type"`
	// Class is the kind of cluster that the object is for, shoot if absent.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="Value is immutable"
	Class *ExtensionClass `json:"class,omitempty"`
	// ProviderConfig is the extension's own configuration, verbatim.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	ProviderConfig *runtime.RawExtension `json:"providerConfig,omitempty"`
}

// DefaultStatus is what the statuses of all kinds of extensions have.
type DefaultStatus struct {
	// ProviderStatus is the extension's own status.
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
	// State is for the extension's controller alone.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	State *runtime.RawExtension `json:"state,omitempty"`
	// Resources are objects in the same namespace that move along with the control plane.
	// +optional
	Resources []NamedResourceReference `json:"resources,omitempty"`
}

// Object is an object of a kind of extensions that a shoot's infrastructure consists of.
//
// +k8s:deepcopy-gen=false
type Object interface {
	metav1.Object
	runtime.Object
	// GetExtensionSpec returns what the spec of each kind has.
	GetExtensionSpec() *DefaultSpec
	// GetExtensionStatus returns what the status of each kind has.
	GetExtensionStatus() *DefaultStatus
}

var (
	_ Object = &Infrastructure{}
	_ Object = &ControlPlane{}
)

// InfrastructureFinalizer is the finalizer of an Infrastructure that an extension has made.
const InfrastructureFinalizer = "extensions.gardener.cloud/infrastructure"

// Infrastructure describes what a shoot needs before its network: networks, routers, firewalls.
// An extension of its type makes that.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=infrastructures,scope=Namespaced,shortName=infra
// +kubebuilder:printcolumn:name=Type,type=string,JSONPath=`.spec.type`,description="The type of the cloud provider for this resource."
// +kubebuilder:printcolumn:name=Region,type=string,JSONPath=`.spec.region`,description="The region into which the infrastructure should be deployed."
// +kubebuilder:printcolumn:name=Status,type=string,JSONPath=`.status.lastOperation.state`,description="Status of infrastructure resource."
// +kubebuilder:printcolumn:name=Age,type=date,JSONPath=`.metadata.creationTimestamp`,description="creation timestamp"
type Infrastructure struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is the desired infrastructure. Extensions may know fields that are not listed here.
	// +kubebuilder:pruning:PreserveUnknownFields
	Spec InfrastructureSpec `json:"spec"`
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	Status InfrastructureStatus `json:"status,omitempty"`
}

// InfrastructureList is a list of Infrastructures.
//
// +kubebuilder:object:root=true
type InfrastructureList struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Infrastructure `json:"items"`
}

// InfrastructureSpec is the desired infrastructure.
type InfrastructureSpec struct {
	DefaultSpec `json:",inline"`
	// Region of the infrastructure. Immutable.
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="Value is immutable"
	Region string `json:"region"`
	// SecretRef is the Secret with the credentials for the infrastructure.
	SecretRef corev1.SecretReference `json:"secretRef"`
}

// InfrastructureStatus is the observed infrastructure.
type InfrastructureStatus struct {
	DefaultStatus `json:",inline"`
	// NodesCIDR is a range of the nodes, in addition to those in Networking.
	// +optional
	NodesCIDR *string `json:"nodesCIDR,omitempty"`
	// Networking are the ranges that the infrastructure gives to the cluster.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	Networking *InfrastructureStatusNetworking `json:"networking,omitempty"`
}

// InfrastructureStatusNetworking are ranges of all IP families.
type InfrastructureStatusNetworking struct {
	// Pods are the pods' ranges.
	// +optional
	Pods []string `json:"pods,omitempty"`
	// Nodes are the nodes' ranges.
	// +optional
	Nodes []string `json:"nodes,omitempty"`
	// Services are the Services' ranges.
	// +optional
	Services []string `json:"services,omitempty"`
}

// GetExtensionSpec implements Object.
func (i *Infrastructure) GetExtensionSpec() *DefaultSpec { return &i.Spec.DefaultSpec }

// GetExtensionStatus implements Object.
func (i *Infrastructure) GetExtensionStatus() *DefaultStatus { return &i.Status.DefaultStatus }
