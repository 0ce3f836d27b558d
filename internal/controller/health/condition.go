// SPDX-License-Identifier: Apache-2.0

package health

import (
	"slices"
	"time"
	"unicode/utf8"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
)

const (
	// conditionType is the Shoot's condition that a network has a part in.
	conditionType = "SystemComponentsHealthy"
	// messageLimit is the greatest length of a condition's message in bytes.
	messageLimit = 500
	// quietTime is how long a condition stays as it is when nothing but its
	// message changes: during a rollout the numbers do all the time.
	quietTime = 10 * time.Second
)

// next is the condition that a sight makes of the present one, and when to look
// again.
func (r *reconciler) next(network *extensionsv1alpha1.Network, seen sight, now time.Time) (corev1beta1.Condition, time.Duration) {
	before := conditionOf(network)
	r.lapses.note(network, before, seen.result, now)
	wanted := corev1beta1.Condition{Type: conditionType, Message: shortened(seen.message)}
	again := r.options.Period
	switch seen.result {
	case healthy:
		wanted.Status, wanted.Reason = corev1beta1.ConditionTrue, reasonSuccessful
	case unknown:
		wanted.Status, wanted.Reason = corev1beta1.ConditionUnknown, reasonCheckError
	case unhealthy:
		wanted.Status, wanted.Reason = corev1beta1.ConditionProgressing, reasonProgressing
		if left := r.patienceLeft(network, before, now); left > 0 {
			again = min(again, left)
		} else {
			wanted.Status, wanted.Reason = corev1beta1.ConditionFalse, reasonUnsuccessful
		}
	}
	wanted.LastTransitionTime, wanted.LastUpdateTime = stamp(now), stamp(now)
	if before == nil || before.Status != wanted.Status {
		return wanted, again
	}
	wanted.LastTransitionTime = before.LastTransitionTime
	if before.Reason != wanted.Reason {
		return wanted, again
	}
	age := now.Sub(before.LastUpdateTime.Time)
	if before.Message == wanted.Message || sameComponents(network, seen.components) && age >= 0 && age < quietTime {
		if before.Message != wanted.Message {
			again = min(again, quietTime-age)
		}
		return *before, again
	}
	return wanted, again
}

// patienceLeft is how much longer a network may be unhealthy before that is a
// failure: it may not be known to be healthy for the threshold, whatever it was
// meanwhile. It is 0 for one whose failure is established.
func (r *reconciler) patienceLeft(network *extensionsv1alpha1.Network, before *corev1beta1.Condition, now time.Time) time.Duration {
	if before != nil && before.Status == corev1beta1.ConditionFalse {
		return 0
	}
	return max(0, r.lapses.since(network).Add(r.options.ProgressingThreshold).Sub(now))
}

func conditionOf(network *extensionsv1alpha1.Network) *corev1beta1.Condition {
	i := slices.IndexFunc(network.Status.Conditions, isOurs)
	if i < 0 {
		return nil
	}
	return &network.Status.Conditions[i]
}

func isOurs(c corev1beta1.Condition) bool { return c.Type == conditionType }

// stamp has the precision that the API stores.
func stamp(now time.Time) metav1.Time { return metav1.NewTime(now).Rfc3339Copy() }

// shortened cuts a message that is too long, between characters.
func shortened(message string) string {
	const ellipsis = "…"
	if len(message) <= messageLimit {
		return message
	}
	end := messageLimit - len(ellipsis)
	for end > 0 && !utf8.RuneStart(message[end]) {
		end--
	}
	return message[:end] + ellipsis
}
