// SPDX-License-Identifier: Apache-2.0

// Package condition reads and changes lists of conditions in Gardener's format, which
// has two timestamps where Kubernetes' has one: a condition is replaced only when it
// changes, and its transition time only when its status does. It also bounds messages.
package condition

import (
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
)

// Get returns the condition of a type, or nil.
func Get(conditions []corev1beta1.Condition, conditionType string) *corev1beta1.Condition {
	for i := range conditions {
		if conditions[i].Type == conditionType {
			return &conditions[i]
		}
	}
	return nil
}

// Value returns the condition of a type, or the zero condition, whose status is empty.
func Value(conditions []corev1beta1.Condition, conditionType string) corev1beta1.Condition {
	return ptr.Deref(Get(conditions, conditionType), corev1beta1.Condition{})
}

// IsTrue reports whether the condition of a type is there and True.
func IsTrue(conditions []corev1beta1.Condition, conditionType string) bool {
	return Value(conditions, conditionType).Status == corev1beta1.ConditionTrue
}

// Set returns the list with a condition added, or replaced if it says something else
// than the one that is there, and whether that changed the list. now becomes its update
// time and, if its status is new, its transition time; the times in wanted do not count.
// The list that it gets stays as it is.
func Set(conditions []corev1beta1.Condition, wanted corev1beta1.Condition, now time.Time) ([]corev1beta1.Condition, bool) {
	stamp := metav1.NewTime(now).Rfc3339Copy() // the precision that the API stores
	wanted.LastTransitionTime, wanted.LastUpdateTime = stamp, stamp
	i := slices.IndexFunc(conditions, func(c corev1beta1.Condition) bool { return c.Type == wanted.Type })
	if i < 0 {
		return append(slices.Clone(conditions), wanted), true
	}
	before := conditions[i]
	if before.Status == wanted.Status {
		wanted.LastTransitionTime = before.LastTransitionTime
		if before.Reason == wanted.Reason && before.Message == wanted.Message && slices.Equal(before.Codes, wanted.Codes) {
			return conditions, false
		}
	}
	after := slices.Clone(conditions)
	after[i] = wanted
	return after, true
}

// Remove returns the list without the condition of a type, and whether that changed
// the list. The list that it gets stays as it is.
func Remove(conditions []corev1beta1.Condition, conditionType string) ([]corev1beta1.Condition, bool) {
	rest := slices.DeleteFunc(slices.Clone(conditions), func(c corev1beta1.Condition) bool { return c.Type == conditionType })
	return rest, len(rest) < len(conditions)
}

// MaxMessage is how many bytes a message has at most that Trellis writes into a status or a
// log line, however long the answer of a cluster is. docs/security.md has all limits.
const MaxMessage = 4096

// Shorten cuts a message between two characters so that it has at most limit bytes. A
// message that is cut ends with an ellipsis.
func Shorten(message string, limit int) string {
	const ellipsis = "…"
	if len(message) <= limit {
		return message
	}
	return strings.ToValidUTF8(message[:limit-len(ellipsis)], "") + ellipsis
}
