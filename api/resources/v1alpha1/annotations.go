// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// Labels and annotations of Gardener's resource manager.
const (
	// Ignore on a ManagedResource stops its reconciliation; on an object inside
	// it keeps the object from being updated after its creation.
	Ignore = "resources.gardener.cloud/ignore"
	// Mode with the value ModeIgnore on an object inside releases the object.
	Mode = "resources.gardener.cloud/mode"
	// ModeIgnore is the value of Mode which releases an object.
	ModeIgnore = "Ignore"
	// KeepObject on an object in the target keeps it from being deleted.
	KeepObject = "resources.gardener.cloud/keep-object"
	// PreserveReplicas on an object inside leaves its replicas to others.
	PreserveReplicas = "resources.gardener.cloud/preserve-replicas"
	// PreserveResources on an object inside leaves its containers' CPU and
	// memory to others.
	PreserveResources = "resources.gardener.cloud/preserve-resources"
	// DeleteOnInvalidUpdate on an object inside has it deleted and made anew
	// when the API server refuses an update as invalid.
	DeleteOnInvalidUpdate = "resources.gardener.cloud/delete-on-invalid-update"
	// DeletionPropagationOnInvalidUpdate on such an object says how that deletion
	// treats its dependents: Background, Foreground or Orphan.
	DeletionPropagationOnInvalidUpdate = "resources.gardener.cloud/deletion-propagation-on-invalid-update"
	// FinalizeDeletionAfter on an object is how long its deletion may take, as a Go
	// duration; then its finalizers are taken off.
	FinalizeDeletionAfter = "resources.gardener.cloud/finalize-deletion-after"
	// SkipHealthCheck on an object inside excludes it from health checks.
	SkipHealthCheck = "resources.gardener.cloud/skip-health-check"
	// OptionalKind with a true value on an object inside has Trellis' own resource
	// manager leave the object out where the target does not have its kind.
	OptionalKind = "trellis.network/optional-kind"
	// Origin on an object in the target is "[<cluster>:]<namespace>/<name>" of
	// its ManagedResource.
	Origin = "resources.gardener.cloud/origin"
	// Description on an object in the target warns that it is managed.
	Description = "resources.gardener.cloud/description"
	// ManagedBy is the label which marks managed objects and their pods.
	ManagedBy = "resources.gardener.cloud/managed-by"
	// GarbageCollectable is the label of Secrets and ConfigMaps that may be
	// deleted when nothing refers to them.
	GarbageCollectable = "resources.gardener.cloud/garbage-collectable-reference"
	// ReferencePrefix begins the annotations which state such references.
	ReferencePrefix = "reference.resources.gardener.cloud/"
	// ReferenceSecret and ReferenceConfigMap begin those to the two kinds. The rest
	// of the key is a hash, the value is the name.
	ReferenceSecret    = ReferencePrefix + "secret-"
	ReferenceConfigMap = ReferencePrefix + "configmap-"
)
