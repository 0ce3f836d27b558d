// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
)

// Conditions of a ManagedResource.
const (
	// ResourcesApplied reports whether the objects were applied.
	ResourcesApplied = "ResourcesApplied"
	// ResourcesHealthy reports whether the objects are healthy.
	ResourcesHealthy = "ResourcesHealthy"
	// ResourcesProgressing reports whether objects are being rolled out.
	ResourcesProgressing = "ResourcesProgressing"
)

// ManagedResource is a set of objects that a resource manager keeps in a
// target cluster just as the referenced Secrets state them.
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

// ManagedResourceSpec says where the objects are and how to treat them.
type ManagedResourceSpec struct {
	// Class selects the resource manager; empty means the one of the shoot.
	// +optional
	Class *string `json:"class,omitempty"`
	// SecretRefs are the Secrets, in the same namespace, which hold the objects.
	SecretRefs []corev1.LocalObjectReference `json:"secretRefs"`
	// InjectLabels are added to each object and to its pod template.
	// +optional
	InjectLabels map[string]string `json:"injectLabels,omitempty"`
	// ForceOverwriteLabels removes labels that others have added.
	// +optional
	ForceOverwriteLabels *bool `json:"forceOverwriteLabels,omitempty"`
	// ForceOverwriteAnnotations removes annotations that others have added.
	// +optional
	ForceOverwriteAnnotations *bool `json:"forceOverwriteAnnotations,omitempty"`
	// KeepObjects leaves the objects in the target when the ManagedResource goes.
	// +optional
	KeepObjects *bool `json:"keepObjects,omitempty"`
	// Equivalences are kinds that the resource manager treats as the same.
	// +optional
	Equivalences [][]metav1.GroupKind `json:"equivalences,omitempty"`
	// DeletePersistentVolumeClaims removes the claims of deleted StatefulSets.
	// +optional
	DeletePersistentVolumeClaims *bool `json:"deletePersistentVolumeClaims,omitempty"`
}

// ManagedResourceStatus is what became of the objects.
type ManagedResourceStatus struct {
	// Conditions are ResourcesApplied, ResourcesHealthy and ResourcesProgressing.
	// +optional
	Conditions []corev1beta1.Condition `json:"conditions,omitempty"`
	// ObservedGeneration is the generation that the last whole pass was about.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// Resources is the inventory: the objects in the target which are this
	// ManagedResource's, sorted by group, kind, namespace and name.
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
