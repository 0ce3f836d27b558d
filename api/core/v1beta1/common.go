// SPDX-License-Identifier: Apache-2.0

package v1beta1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// ConditionStatus is the status of a Condition.
type ConditionStatus string

const (
	// ConditionTrue means that the condition holds.
	ConditionTrue ConditionStatus = "True"
	// ConditionFalse means that the condition does not hold.
	ConditionFalse ConditionStatus = "False"
	// ConditionUnknown means that it could not be found out.
	ConditionUnknown ConditionStatus = "Unknown"
	// ConditionProgressing means that it does not hold yet (or not at the
	// moment), and that this is not a failure so far.
	ConditionProgressing ConditionStatus = "Progressing"
)

// Condition is one aspect of an object's state, in Gardener's format: it has
// two timestamps and a status more than metav1.Condition.
type Condition struct {
	// Type of the condition.
	Type string `json:"type"`
	// Status of the condition.
	Status ConditionStatus `json:"status"`
	// LastTransitionTime is when the status changed last.
	LastTransitionTime metav1.Time `json:"lastTransitionTime"`
	// LastUpdateTime is when status, reason, message or codes changed last.
	LastUpdateTime metav1.Time `json:"lastUpdateTime"`
	// Reason is one word for machines.
	Reason string `json:"reason"`
	// Message is a sentence for users.
	Message string `json:"message"`
	// Codes classify an error.
	// +optional
	Codes []ErrorCode `json:"codes,omitempty"`
}

// LastOperationType is what an operation does.
type LastOperationType string

const (
	// LastOperationTypeCreate is the first reconciliation, until it succeeds.
	LastOperationTypeCreate LastOperationType = "Create"
	// LastOperationTypeReconcile is any later reconciliation.
	LastOperationTypeReconcile LastOperationType = "Reconcile"
	// LastOperationTypeDelete is a deletion.
	LastOperationTypeDelete LastOperationType = "Delete"
	// LastOperationTypeMigrate is the farewell to a seed.
	LastOperationTypeMigrate LastOperationType = "Migrate"
	// LastOperationTypeRestore is the arrival on a seed.
	LastOperationTypeRestore LastOperationType = "Restore"
)

// LastOperationState is how far an operation is. Extensions write Processing,
// Succeeded and Error; Failed is Gardener's alone.
type LastOperationState string

const (
	// LastOperationStateProcessing means that the operation goes on.
	LastOperationStateProcessing LastOperationState = "Processing"
	// LastOperationStateSucceeded means that it ended well.
	LastOperationStateSucceeded LastOperationState = "Succeeded"
	// LastOperationStateError means that it ended badly and may be retried.
	LastOperationStateError LastOperationState = "Error"
	// LastOperationStateFailed means that it will not be retried.
	LastOperationStateFailed LastOperationState = "Failed"
)

// LastOperation tells what was done last.
type LastOperation struct {
	// Description is a sentence for users.
	Description string `json:"description"`
	// LastUpdateTime is when this record changed last.
	LastUpdateTime metav1.Time `json:"lastUpdateTime"`
	// Progress is a percentage.
	Progress int32 `json:"progress"`
	// State is how far the operation is.
	State LastOperationState `json:"state"`
	// Type is what the operation does.
	Type LastOperationType `json:"type"`
}

// LastError tells what went wrong last.
type LastError struct {
	// Description is a sentence for users.
	Description string `json:"description"`
	// TaskID is the failed task of Gardener's flow; extensions leave it empty.
	// +optional
	TaskID *string `json:"taskID,omitempty"`
	// Codes classify the error.
	// +optional
	Codes []ErrorCode `json:"codes,omitempty"`
	// LastUpdateTime is when the error was seen last.
	// +optional
	LastUpdateTime *metav1.Time `json:"lastUpdateTime,omitempty"`
}

// ErrorCode classifies an error, so that Gardener knows whether retrying helps.
type ErrorCode string

const (
	// ErrorConfigurationProblem is what the user must correct; retrying does not
	// help.
	ErrorConfigurationProblem ErrorCode = "ERR_CONFIGURATION_PROBLEM"
	// ErrorRetryableConfigurationProblem is a problem with the user's cluster
	// that may go away.
	ErrorRetryableConfigurationProblem ErrorCode = "ERR_RETRYABLE_CONFIGURATION_PROBLEM"
	// ErrorCleanupClusterResources means that something in the shoot keeps its
	// objects from being deleted.
	ErrorCleanupClusterResources ErrorCode = "ERR_CLEANUP_CLUSTER_RESOURCES"
)
