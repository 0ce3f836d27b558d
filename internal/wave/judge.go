// SPDX-License-Identifier: Apache-2.0

package wave

import (
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/internal/condition"
)

// observed are the conditions by which the health of a network counts.
var observed = []string{"SystemComponentsHealthy", extensionsv1alpha1.PodNetworkAvailable}

// Begin returns the Record of a Network that is written now.
func (p *Policy) Begin(status *extensionsv1alpha1.NetworkStatus, now time.Time) *Record {
	record := &Record{
		Revision: p.Revision, Phase: Progressing, Reason: Updating, Since: metav1.NewTime(now).Rfc3339Copy(),
		Message:    fmt.Sprintf("The network was updated, and must be healthy for %s", p.MinSuccessTime),
		WasApplied: status.LastOperation != nil && status.LastOperation.State == corev1beta1.LastOperationStateSucceeded,
	}
	for _, each := range observed {
		if condition.IsTrue(status.Conditions, each) {
			record.Healthy = append(record.Healthy, each)
		}
	}
	return record
}

// Judge returns the Record of a Network that is Progressing, as its status now makes it, and after
// which time it can change without another event; 0 if only an event changes it.
//
// A Network fails if it reports an error before it was applied, if a condition that was True when it was admitted is
// False, or if such a condition is not True again at the deadline. One that had an error or was not healthy before
// cannot show whether the update harmed it: it succeeds at the deadline at the latest. What a
// record states of the future, because the clock was set back, is taken for now.
func (p *Policy) Judge(record Record, status *extensionsv1alpha1.NetworkStatus, now time.Time) (Record, time.Duration) {
	record.Since, record.Applied = untilNow(record.Since, now), untilNow(record.Applied, now)
	last := status.LastOperation
	isCurrent := last != nil && !last.LastUpdateTime.Time.Before(record.Since.Time)
	deadline := record.Since.Add(p.ProgressDeadline)
	if record.Applied.IsZero() {
		switch {
		case isCurrent && last.State == corev1beta1.LastOperationStateSucceeded:
			record.Applied = untilNow(last.LastUpdateTime, now)
		case !record.WasApplied && !now.Before(deadline):
			return record.succeeds(now), 0
		case !record.WasApplied:
			return record, deadline.Sub(now)
		case isCurrent && last.State == corev1beta1.LastOperationStateError:
			return record.becomes(Failed, NotApplied, "The update could not be applied: see status.lastError", now), 0
		case !now.Before(deadline):
			return record.becomes(Failed, NotApplied, fmt.Sprintf("The update was not applied within %s", p.ProgressDeadline), now), 0
		default:
			return record, deadline.Sub(now)
		}
	}
	since, isHealthy := record.Applied.Time, true
	for _, each := range observed {
		is := condition.Get(status.Conditions, each)
		if is == nil {
			continue
		}
		wasHealthy := slices.Contains(record.Healthy, each)
		switch is.Status {
		case corev1beta1.ConditionTrue:
			if at := is.LastTransitionTime.Time; at.After(since) && !at.After(now) {
				since = at
			}
			continue
		case corev1beta1.ConditionFalse:
			if wasHealthy {
				return record.becomes(Failed, Unhealthy, fmt.Sprintf("After the update the condition %s became False", each), now), 0
			}
		}
		if wasHealthy && !now.Before(deadline) {
			return record.becomes(Failed, Unhealthy, fmt.Sprintf("The condition %s is not True again within %s of the update", each, p.ProgressDeadline), now), 0
		}
		isHealthy = false
	}
	left := deadline.Sub(now)
	if isHealthy {
		left = since.Add(p.MinSuccessTime).Sub(now)
	}
	if left > 0 {
		return record, left
	}
	return record.succeeds(now), 0
}

func (r Record) succeeds(now time.Time) Record { return r.becomes(Succeeded, "", "", now) }

// untilNow returns a time, or now if that is earlier.
func untilNow(at metav1.Time, now time.Time) metav1.Time {
	if at.After(now) {
		return metav1.NewTime(now).Rfc3339Copy()
	}
	return at
}

// becomes returns the Record of a Network that enters another phase.
func (r Record) becomes(phase Phase, reason Reason, message string, now time.Time) Record {
	return Record{Revision: r.Revision, Phase: phase, Reason: reason, Message: message, Since: metav1.NewTime(now).Rfc3339Copy()}
}
