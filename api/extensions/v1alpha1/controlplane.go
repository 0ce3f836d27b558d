// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// ControlPlaneFinalizer is the finalizer of a ControlPlane that an extension has made.
const ControlPlaneFinalizer = "extensions.gardener.cloud/controlplane"

// ControlPlane describes the components of a shoot's control plane that depend on its
// infrastructure, such as a cloud controller manager. An extension of its type deploys them.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=controlplanes,scope=Namespaced,shortName=cp
// +kubebuilder:printcolumn:name=Type,type=string,JSONPath=`.spec.type`,description="The control plane type."
// +kubebuilder:printcolumn:name=Status,type=string,JSONPath=`.status.lastOperation.state`,description="Status of control plane resource."
// +kubebuilder:printcolumn:name=Age,type=date,JSONPath=`.metadata.creationTimestamp`,description="creation timestamp"
type ControlPlane struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is the desired control plane. Extensions may know fields that are not listed here.
	// +kubebuilder:pruning:PreserveUnknownFields
	Spec ControlPlaneSpec `json:"spec"`
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	Status ControlPlaneStatus `json:"status,omitempty"`
}

// ControlPlaneList is a list of ControlPlanes.
//
// +kubebuilder:object:root=true
type ControlPlaneList struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []ControlPlane `json:"items"`
}

// ControlPlaneSpec is the desired control plane.
type ControlPlaneSpec struct {
	DefaultSpec `json:",inline"`
	// Region of the infrastructure.
	Region string `json:"region"`
	// SecretRef is the Secret with the credentials for the infrastructure.
	SecretRef corev1.SecretReference `json:"secretRef"`
	// InfrastructureProviderStatus is status.providerStatus of the Infrastructure, verbatim.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	InfrastructureProviderStatus *runtime.RawExtension `json:"infrastructureProviderStatus,omitempty"`
}

// ControlPlaneStatus is the observed control plane.
type ControlPlaneStatus struct {
	DefaultStatus `json:",inline"`
}

// GetExtensionSpec implements Object.
func (c *ControlPlane) GetExtensionSpec() *DefaultSpec { return &c.Spec.DefaultSpec }

// GetExtensionStatus implements Object.
func (c *ControlPlane) GetExtensionStatus() *DefaultStatus { return &c.Status.DefaultStatus }
