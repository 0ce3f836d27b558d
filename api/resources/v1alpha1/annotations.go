// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// Labels and annotations of Gardener's resource manager.
const (
	// Ignore on a ManagedResource stops its reconciliation.
	Ignore = "resources.gardener.cloud/ignore"
	// KeepObject on an object in the target prevents its deletion.
	KeepObject = "resources.gardener.cloud/keep-object"
	// PreserveReplicas on an object of a ManagedResource keeps the replicas that other
	// clients have set.
	PreserveReplicas = "resources.gardener.cloud/preserve-replicas"
	// PreserveResources on an object of a ManagedResource keeps the CPU and memory that
	// other clients have set for its containers.
	PreserveResources = "resources.gardener.cloud/preserve-resources"
	// DeleteOnInvalidUpdate on an object of a ManagedResource makes the resource manager
	// delete and recreate the object if the API server rejects an update as invalid.
	DeleteOnInvalidUpdate = "resources.gardener.cloud/delete-on-invalid-update"
	// SkipHealthCheck on an object of a ManagedResource excludes it from health checks.
	SkipHealthCheck = "resources.gardener.cloud/skip-health-check"
	// OptionalKind with a true value on an object of a ManagedResource makes Trellis' own
	// resource manager skip the object if the target does not have its kind.
	OptionalKind = "trellis.network/optional-kind"
	// Origin on an object in the target is "[<cluster>:]<namespace>/<name>" of
	// its ManagedResource.
	Origin = "resources.gardener.cloud/origin"
	// Description on an object in the target warns users that Trellis or Gardener manages it.
	Description = "resources.gardener.cloud/description"
	// ManagedBy is the label of managed objects and their pods.
	ManagedBy = "resources.gardener.cloud/managed-by"
	// GarbageCollectable is the label of Secrets and ConfigMaps that a garbage collector
	// may delete when no object refers to them.
	GarbageCollectable = "resources.gardener.cloud/garbage-collectable-reference"
	// ReferencePrefix is the prefix of annotations that refer to such objects.
	ReferencePrefix = "reference.resources.gardener.cloud/"
)
