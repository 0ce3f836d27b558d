// SPDX-License-Identifier: Apache-2.0

package components

import (
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	"github.com/trellis-network/trellis/internal/condition"
	"github.com/trellis-network/trellis/internal/controller/networkstatus/source"
)

// Reasons of Gardener's health checks.
const (
	reasonSuccessful   = "HealthCheckSuccessful"
	reasonUnsuccessful = "HealthCheckUnsuccessful"
	reasonProgressing  = "HealthCheckProgressing"
	reasonCheckError   = "ConditionCheckError"
)

// condition returns what an observation makes of the condition, and when to observe
// again.
func (s *Source) condition(in source.Input, seen observation) (corev1beta1.Condition, time.Duration) {
	before := condition.Get(in.Network.Status.Conditions, ConditionType)
	since := s.trackHealth(in, before, seen.result)
	wanted := corev1beta1.Condition{Type: ConditionType, Message: seen.message}
	requeueAfter := s.options.Period
	switch seen.result {
	case healthy:
		wanted.Status, wanted.Reason = corev1beta1.ConditionTrue, reasonSuccessful
	case unknown:
		wanted.Status, wanted.Reason = corev1beta1.ConditionUnknown, reasonCheckError
	case unhealthy:
		wanted.Status, wanted.Reason = corev1beta1.ConditionProgressing, reasonProgressing
		left := since.Add(s.options.ProgressingThreshold).Sub(in.Now)
		if before != nil && before.Status == corev1beta1.ConditionFalse {
			left = 0 // it has failed already
		}
		if left > 0 {
			requeueAfter = min(requeueAfter, left)
		} else {
			wanted.Status, wanted.Reason = corev1beta1.ConditionFalse, reasonUnsuccessful
		}
	}
	return wanted, requeueAfter
}

// trackHealth returns since when the network has not been known to be healthy. before
// is the condition that it has, nil for a new Network.
func (s *Source) trackHealth(in source.Input, before *corev1beta1.Condition, now result) time.Time {
	return s.unhealthySince.Update(client.ObjectKeyFromObject(in.Network), func(since time.Time, tracked bool) (time.Time, bool) {
		switch {
		case now == healthy:
			return time.Time{}, false
		case before == nil, !tracked && before.Status == corev1beta1.ConditionTrue:
			return in.Now, true
		case !tracked:
			return before.LastTransitionTime.Time, true
		default:
			return since, true
		}
	})
}
