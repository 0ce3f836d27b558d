// SPDX-License-Identifier: Apache-2.0

package managedresource

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	resourcesv1alpha1 "github.com/trellis-network/trellis/api/resources/v1alpha1"
)

// Reasons of conditions (section 3.9).
const (
	reasonApplySucceeded    = "ApplySucceeded"
	reasonApplyProgressing  = "ApplyProgressing"
	reasonApplyFailed       = "ApplyFailed"
	reasonDecodingFailed    = "DecodingFailed"
	reasonCannotReadSecret  = "CannotReadSecret"
	reasonDeletionPending   = "DeletionPending"
	reasonDeletionFailed    = "DeletionFailed"
	reasonReleaseFailed     = "ReleaseOfOrphanedResourcesFailed"
	reasonIgnored           = "ManagedResourceIgnored"
	reasonChecksPending     = "ChecksPending"
	reasonHealthCheckError  = "HealthCheckError"
	reasonResourcesHealthy  = "ResourcesHealthy"
	reasonResourcesRolled   = "ResourcesRolledOut"
	suffixMissing           = "Missing"
	suffixUnhealthy         = "Unhealthy"
	suffixProgressing       = "Progressing"
	messageChecksPending    = "The objects are judged once all of them are applied."
	messageApplyProgressing = "The objects are being applied."
	messageIgnored          = "The ManagedResource is marked to be ignored."
)

func condition(mr *resourcesv1alpha1.ManagedResource, kind string) *corev1beta1.Condition {
	for i := range mr.Status.Conditions {
		if mr.Status.Conditions[i].Type == kind {
			return &mr.Status.Conditions[i]
		}
	}
	return nil
}

func isApplied(mr *resourcesv1alpha1.ManagedResource) bool {
	applied := condition(mr, resourcesv1alpha1.ResourcesApplied)
	return applied != nil && applied.Status == corev1beta1.ConditionTrue
}

// set sets a condition. Its times change only with its content.
func (p *pass) set(kind string, status corev1beta1.ConditionStatus, reason, message string, codes ...corev1beta1.ErrorCode) {
	now := metav1.NewTime(p.options.Clock.Now()).Rfc3339Copy()
	current := condition(p.mr, kind)
	if current == nil {
		p.mr.Status.Conditions = append(p.mr.Status.Conditions, corev1beta1.Condition{
			Type: kind, Status: status, Reason: reason, Message: message, Codes: codes, LastTransitionTime: now, LastUpdateTime: now,
		})
		return
	}
	if current.Status == status && current.Reason == reason && current.Message == message && slices.Equal(current.Codes, codes) {
		return
	}
	if current.Status != status {
		current.LastTransitionTime = now
	}
	current.Status, current.Reason, current.Message, current.Codes, current.LastUpdateTime = status, reason, message, codes, now
}

func (p *pass) setApplied(status corev1beta1.ConditionStatus, reason, message string, codes ...corev1beta1.ErrorCode) {
	p.set(resourcesv1alpha1.ResourcesApplied, status, reason, message, codes...)
}

func (p *pass) setHealthy(status corev1beta1.ConditionStatus, reason, message string) {
	p.set(resourcesv1alpha1.ResourcesHealthy, status, reason, message)
}

func (p *pass) setProgressing(status corev1beta1.ConditionStatus, reason, message string) {
	p.set(resourcesv1alpha1.ResourcesProgressing, status, reason, message)
}

// ignored sets what is reported of a ManagedResource that is to be ignored.
func (p *pass) ignored() {
	p.record.inputs = "" // what is said here is not to stay when the mark goes
	p.setApplied(corev1beta1.ConditionTrue, reasonIgnored, messageIgnored)
	p.setHealthy(corev1beta1.ConditionTrue, reasonIgnored, messageIgnored)
	p.setProgressing(corev1beta1.ConditionFalse, reasonIgnored, messageIgnored)
}

// applying sets what is reported while content that was not applied before is
// being applied. A failure stays visible until it is overcome.
func (p *pass) applying() {
	p.setHealthy(corev1beta1.ConditionUnknown, reasonChecksPending, messageChecksPending)
	p.setProgressing(corev1beta1.ConditionUnknown, reasonChecksPending, messageChecksPending)
	if applied := condition(p.mr, resourcesv1alpha1.ResourcesApplied); applied != nil {
		switch applied.Reason {
		case reasonApplyFailed, reasonDeletionFailed, reasonDeletionPending:
			return
		}
	}
	p.setApplied(corev1beta1.ConditionProgressing, reasonApplyProgressing, messageApplyProgressing)
}

// deleting sets what is reported while all objects are being deleted.
func (p *pass) deleting() {
	const message = "The objects are being deleted."
	p.setHealthy(corev1beta1.ConditionFalse, reasonDeletionPending, message)
	p.setProgressing(corev1beta1.ConditionTrue, reasonDeletionPending, message)
}
