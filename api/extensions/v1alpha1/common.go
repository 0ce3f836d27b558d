// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
)

// Annotations of Gardener's contract between the gardenlet, which writes extension
// objects, and their controllers.
const (
	// OperationAnnotation requests an operation. Its values are the Operation constants.
	OperationAnnotation = "gardener.cloud/operation"
	// OperationReconcile requests a reconciliation. The controller removes the
	// annotation before it reconciles.
	OperationReconcile = "reconcile"
	// OperationMigrate requests that the controller leaves the seed, and leaves the
	// objects in the shoot as they are.
	OperationMigrate = "migrate"
	// OperationRestore requests the first reconciliation on another seed.
	OperationRestore = "restore"
	// OperationWaitForState tells the controller to do nothing until the gardenlet has
	// written status.state.
	OperationWaitForState = "wait-for-state"
	// TimestampAnnotation is the time of the request, RFC 3339 with nanoseconds.
	TimestampAnnotation = "gardener.cloud/timestamp"
	// ConfirmationAnnotation must be "true" before a Network may be deleted.
	ConfirmationAnnotation = "confirmation.gardener.cloud/deletion"
	// ForceDeletionAnnotation on a Shoot lets its deletion not wait for the objects in
	// the shoot.
	ForceDeletionAnnotation = "confirmation.gardener.cloud/force-deletion"
)

// ExtensionClass is the kind of cluster that an extension object is for. An absent
// class means ExtensionClassShoot.
type ExtensionClass string

// ExtensionClassShoot is the class of extension objects for a shoot.
const ExtensionClassShoot ExtensionClass = "shoot"

// DefaultSpec has the fields that the spec of every extension kind begins with.
type DefaultSpec struct {
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
}

// DefaultStatus has the fields that the status of every extension kind begins with.
type DefaultStatus struct {
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

// Cluster has copies of a shoot's objects in the garden, for the extensions in the
// seed. Its name is that of the shoot's control-plane namespace.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=clusters,scope=Cluster
// +kubebuilder:printcolumn:name=Age,type=date,JSONPath=`.metadata.creationTimestamp`
type Cluster struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec ClusterSpec `json:"spec"`
}

// ClusterList is a list of Clusters.
//
// +kubebuilder:object:root=true
type ClusterList struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Cluster `json:"items"`
}

// ClusterSpec has whole objects of the garden. Trellis ignores their unknown fields,
// since garden and seed may have different versions of Gardener.
type ClusterSpec struct {
	// CloudProfile is the core.gardener.cloud/v1beta1 CloudProfile.
	// +kubebuilder:pruning:PreserveUnknownFields
	CloudProfile runtime.RawExtension `json:"cloudProfile"`
	// Seed is the core.gardener.cloud/v1beta1 Seed. Self-hosted shoots have none.
	// +optional
	// +nullable
	// +kubebuilder:pruning:PreserveUnknownFields
	Seed *runtime.RawExtension `json:"seed,omitempty"`
	// Shoot is the core.gardener.cloud/v1beta1 Shoot with its status.
	// +kubebuilder:pruning:PreserveUnknownFields
	Shoot runtime.RawExtension `json:"shoot"`
}
