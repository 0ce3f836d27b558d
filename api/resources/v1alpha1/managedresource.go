// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
)

// Conditions of a ManagedResource: whether its objects are applied, whether they are healthy,
// and whether some are being rolled out.
const (
	ResourcesApplied     = "ResourcesApplied"
	ResourcesHealthy     = "ResourcesHealthy"
	ResourcesProgressing = "ResourcesProgressing"
)

// ManagedResource is a set of objects. A resource manager keeps them in a target cluster
// as the referenced Secrets have them.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=managedresources,scope=Namespaced,shortName=mr
// +kubebuilder:printcolumn:name=Class,type=string,JSONPath=`.spec.class`,description="The class identifies which resource manager is responsible for this ManagedResource."
// +kubebuilder:printcolumn:name=Applied,type=string,JSONPath=`.status.conditions[?(@.type=="ResourcesApplied")].status`,description="Indicates whether all resources have been applied."
// +kubebuilder:printcolumn:name=Healthy,type=string,JSONPath=`.status.conditions[?(@.type=="ResourcesHealthy")].status`,description="Indicates whether all resources are healthy."
// +kubebuilder:printcolumn:name=Progressing,type=string,JSONPath=`.status.conditions[?(@.type=="ResourcesProgressing")].status`,description="Indicates whether some resources are still progressing to be rolled out."
// +kubebuilder:printcolumn:name=Age,type=date,JSONPath=`.metadata.creationTimestamp`,description="Time since creation."
type ManagedResource struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +optional
	Spec ManagedResourceSpec `json:"spec,omitempty"`
	// +optional
	Status ManagedResourceStatus `json:"status,omitempty"`
}

// ManagedResourceList is a list of ManagedResources.
//
// +kubebuilder:object:root=true
type ManagedResourceList struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []ManagedResource `json:"items"`
}

// ManagedResourceSpec refers to the objects, and states how to apply and delete them.
type ManagedResourceSpec struct {
	// Class selects the resource manager. Empty means the one of the shoot.
	// +optional
	Class *string `json:"class,omitempty"`
	// SecretRefs are the Secrets with the objects, in the same namespace.
	SecretRefs []corev1.LocalObjectReference `json:"secretRefs"`
	// InjectLabels are labels that the resource manager adds to each object and to its
	// pod template.
	// +optional
	InjectLabels map[string]string `json:"injectLabels,omitempty"`
	// ForceOverwriteLabels removes the labels that other clients have added. Trellis' own
	// resource manager ignores it.
	// +optional
	ForceOverwriteLabels *bool `json:"forceOverwriteLabels,omitempty"`
	// ForceOverwriteAnnotations removes the annotations that other clients have added.
	// Trellis' own resource manager ignores it.
	// +optional
	ForceOverwriteAnnotations *bool `json:"forceOverwriteAnnotations,omitempty"`
	// KeepObjects keeps the objects in the target when the ManagedResource is deleted.
	// +optional
	KeepObjects *bool `json:"keepObjects,omitempty"`
	// Equivalences are kinds that the resource manager treats as the same.
	// +optional
	Equivalences [][]metav1.GroupKind `json:"equivalences,omitempty"`
	// DeletePersistentVolumeClaims removes the claims of deleted StatefulSets.
	// +optional
	DeletePersistentVolumeClaims *bool `json:"deletePersistentVolumeClaims,omitempty"`
}

// ManagedResourceStatus is the observed state of the objects.
type ManagedResourceStatus struct {
	// Conditions are ResourcesApplied, ResourcesHealthy and ResourcesProgressing.
	// +optional
	Conditions []corev1beta1.Condition `json:"conditions,omitempty"`
	// ObservedGeneration is the generation of the last complete reconciliation.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// Resources is the inventory: the objects of this ManagedResource in the target,
	// sorted by group, kind, namespace and name.
	// +optional
	Resources []ObjectReference `json:"resources,omitempty"`
	// SecretsDataChecksum is the SHA-256 of the Secrets' content, in hex.
	// +optional
	SecretsDataChecksum *string `json:"secretsDataChecksum,omitempty"`
}

// ObjectReference is an object of the inventory.
type ObjectReference struct {
	corev1.ObjectReference `json:",inline"`
	// Labels that the object was applied with.
	// +optional
	Labels map[string]string `json:"labels,omitempty"`
	// Annotations that the object was applied with.
	// +optional
	Annotations map[string]string `json:"annotations,omitempty"`
}
