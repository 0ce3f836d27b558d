// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
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

// ProviderLabel of a control-plane namespace is the type of the shoot's infrastructure.
const ProviderLabel = "shoot.gardener.cloud/provider"

// NetworkTypeLabel of a control-plane namespace is the type of the shoot's network.
const NetworkTypeLabel = "networking.shoot.gardener.cloud/provider"

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
