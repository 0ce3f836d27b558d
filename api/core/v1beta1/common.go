// SPDX-License-Identifier: Apache-2.0

package v1beta1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// ConditionStatus is the status of a Condition.
type ConditionStatus string

// The statuses of a Condition. Progressing means that the condition does not hold now, and
// that this is not a failure yet. Unknown means that the controller could not find out.
const (
	ConditionTrue        ConditionStatus = "True"
	ConditionFalse       ConditionStatus = "False"
	ConditionUnknown     ConditionStatus = "Unknown"
	ConditionProgressing ConditionStatus = "Progressing"
)

// Condition is one aspect of an object's state, in Gardener's format. Unlike
// metav1.Condition, it has two timestamps, and the additional status Progressing.
type Condition struct {
	// Type of the condition.
	Type string `json:"type"`
	// Status of the condition.
	Status ConditionStatus `json:"status"`
	// LastTransitionTime is the time of the last change of the status.
	LastTransitionTime metav1.Time `json:"lastTransitionTime"`
	// LastUpdateTime is the time of the last change of status, reason, message or codes.
	LastUpdateTime metav1.Time `json:"lastUpdateTime"`
	// Reason is a word for programs.
	Reason string `json:"reason"`
	// Message is a sentence for users.
	Message string `json:"message"`
	// Codes classify an error.
	// +optional
	Codes []ErrorCode `json:"codes,omitempty"`
}

// LastOperationType is the type of an operation.
type LastOperationType string

// The types of an operation. Create is the first reconciliation, until it succeeds, and
// Reconcile any later one. Migrate prepares the move of a control plane to another seed, and
// Restore is the first reconciliation there.
const (
	LastOperationTypeCreate    LastOperationType = "Create"
	LastOperationTypeReconcile LastOperationType = "Reconcile"
	LastOperationTypeDelete    LastOperationType = "Delete"
	LastOperationTypeMigrate   LastOperationType = "Migrate"
	LastOperationTypeRestore   LastOperationType = "Restore"
)

// LastOperationState is the state of an operation.
type LastOperationState string

// The states of an operation. Extensions write Processing, Succeeded, and Error for what may
// be retried. Only Gardener writes Failed, for what is not retried.
const (
	LastOperationStateProcessing LastOperationState = "Processing"
	LastOperationStateSucceeded  LastOperationState = "Succeeded"
	LastOperationStateError      LastOperationState = "Error"
	LastOperationStateFailed     LastOperationState = "Failed"
)

// LastOperation describes the last operation.
type LastOperation struct {
	// Description is a sentence for users.
	Description string `json:"description"`
	// LastUpdateTime is the time of the last change of the last operation.
	LastUpdateTime metav1.Time `json:"lastUpdateTime"`
	// Progress is a percentage.
	Progress int32 `json:"progress"`
	// State is the state of the operation.
	State LastOperationState `json:"state"`
	// Type is the type of the operation.
	Type LastOperationType `json:"type"`
}

// LastError describes the last error.
type LastError struct {
	// Description is a sentence for users.
	Description string `json:"description"`
	// TaskID is the failed task of Gardener's flow; extensions leave it empty.
	// +optional
	TaskID *string `json:"taskID,omitempty"`
	// Codes classify the error.
	// +optional
	Codes []ErrorCode `json:"codes,omitempty"`
	// LastUpdateTime is the time of the last occurrence of the error.
	// +optional
	LastUpdateTime *metav1.Time `json:"lastUpdateTime,omitempty"`
}

// ErrorCode classifies an error. By it Gardener decides whether it retries.
type ErrorCode string

const (
	// ErrorConfigurationProblem means that the user must correct something. Retrying
	// does not help.
	ErrorConfigurationProblem ErrorCode = "ERR_CONFIGURATION_PROBLEM"
	// ErrorRetryableConfigurationProblem is a problem with the user's cluster that
	// the user may correct while Gardener retries.
	ErrorRetryableConfigurationProblem ErrorCode = "ERR_RETRYABLE_CONFIGURATION_PROBLEM"
	// ErrorInfraUnauthorized means that the infrastructure refuses the credentials.
	ErrorInfraUnauthorized ErrorCode = "ERR_INFRA_UNAUTHORIZED"
	// ErrorInfraQuotaExceeded means that a quota of the infrastructure is used up.
	ErrorInfraQuotaExceeded ErrorCode = "ERR_INFRA_QUOTA_EXCEEDED"
	// ErrorInfraRateLimitsExceeded means that the infrastructure answers no more requests
	// for now.
	ErrorInfraRateLimitsExceeded ErrorCode = "ERR_INFRA_RATE_LIMITS_EXCEEDED"
	// ErrorCleanupClusterResources means that objects in the shoot cannot be deleted.
	ErrorCleanupClusterResources ErrorCode = "ERR_CLEANUP_CLUSTER_RESOURCES"
)
