// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
)

// Annotations of Gardener's contract between the author of an extension
// object and its controller.
const (
	// OperationAnnotation asks for an operation; see the Operation constants.
	OperationAnnotation = "gardener.cloud/operation"
	// OperationReconcile asks for a reconciliation. The controller removes it
	// before it starts to work.
	OperationReconcile = "reconcile"
	// OperationMigrate asks to let go of the shoot without touching its objects.
	OperationMigrate = "migrate"
	// OperationRestore asks for the first reconciliation on another seed.
	OperationRestore = "restore"
	// OperationWaitForState asks to do nothing: status.state is being written.
	OperationWaitForState = "wait-for-state"
	// TimestampAnnotation is when the operation was asked for, RFC 3339 with
	// nanoseconds.
	TimestampAnnotation = "gardener.cloud/timestamp"
	// ConfirmationAnnotation must be "true" before a Network may be deleted.
	ConfirmationAnnotation = "confirmation.gardener.cloud/deletion"
	// ForceDeletionAnnotation on a Shoot makes its deletion wait for nothing
	// inside the shoot.
	ForceDeletionAnnotation = "confirmation.gardener.cloud/force-deletion"
)

// ExtensionClass says for which kind of cluster an extension object is meant.
// An absent class means ExtensionClassShoot.
type ExtensionClass string

// ExtensionClassShoot is the class of objects which are meant for a shoot.
const ExtensionClassShoot ExtensionClass = "shoot"

// DefaultSpec is what the spec of every extension kind begins with.
type DefaultSpec struct {
	// Type names the plugin, for example calico. Immutable.
	Type string `json:"type"`
	// Class is the kind of cluster the object is meant for; absent means shoot.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="Value is immutable"
	Class *ExtensionClass `json:"class,omitempty"`
	// ProviderConfig is the plugin's own configuration, verbatim.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	ProviderConfig *runtime.RawExtension `json:"providerConfig,omitempty"`
}

// DefaultStatus is what the status of every extension kind begins with.
type DefaultStatus struct {
	// ProviderStatus is the plugin's own status.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	ProviderStatus *runtime.RawExtension `json:"providerStatus,omitempty"`
	// Conditions are what health checks found.
	// +optional
	Conditions []corev1beta1.Condition `json:"conditions,omitempty"`
	// LastError is absent after a success.
	// +optional
	LastError *corev1beta1.LastError `json:"lastError,omitempty"`
	// LastOperation tells what was done last, and how it ended.
	// +optional
	LastOperation *corev1beta1.LastOperation `json:"lastOperation,omitempty"`
	// ObservedGeneration is the generation that the last success or error was
	// about.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// State is opaque to all but the controller, and moves with the control
	// plane to another seed.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	State *runtime.RawExtension `json:"state,omitempty"`
	// Resources are objects in the same namespace which must move along.
	// +optional
	Resources []NamedResourceReference `json:"resources,omitempty"`
}

// NamedResourceReference is a reference to an object, under a name.
type NamedResourceReference struct {
	// Name is what the reference is known by.
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

// Cluster is a copy of what the garden knows of a shoot, for the extensions in
// the seed. Its name is that of the shoot's control-plane namespace.
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

// ClusterSpec holds whole objects of the garden. They are decoded leniently,
// since garden and seed may differ in version.
type ClusterSpec struct {
	// CloudProfile is the core.gardener.cloud/v1beta1 CloudProfile.
	// +kubebuilder:pruning:PreserveUnknownFields
	CloudProfile runtime.RawExtension `json:"cloudProfile"`
	// Seed is the core.gardener.cloud/v1beta1 Seed; self-hosted shoots have none.
	// +optional
	// +nullable
	// +kubebuilder:pruning:PreserveUnknownFields
	Seed *runtime.RawExtension `json:"seed,omitempty"`
	// Shoot is the core.gardener.cloud/v1beta1 Shoot with its status.
	// +kubebuilder:pruning:PreserveUnknownFields
	Shoot runtime.RawExtension `json:"shoot"`
}
