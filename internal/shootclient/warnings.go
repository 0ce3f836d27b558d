// SPDX-License-Identifier: Apache-2.0

package shootclient

import (
	"cmp"
	"context"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Warnings returns the warning events about an object of a kind of the core
// group, the last one last, of the first limit events that the API server has
// about it. Where reading events is not allowed there are none.
func (s *Shoot) Warnings(ctx context.Context, kind string, key types.NamespacedName, limit int64) ([]corev1.Event, error) {
	list := &corev1.EventList{}
	err := s.Client.List(ctx, list, client.InNamespace(key.Namespace), client.Limit(limit), client.MatchingFields{
		"involvedObject.kind": kind, "involvedObject.name": key.Name, "type": corev1.EventTypeWarning,
	})
	if apierrors.IsForbidden(err) {
		return nil, nil
	}
	slices.SortStableFunc(list.Items, func(a, b corev1.Event) int {
		return cmp.Or(happened(&a).Compare(happened(&b)), cmp.Compare(a.Name, b.Name))
	})
	return list.Items, s.Failure(err)
}

// happened is when an event occurred last, in whichever field its author has put
// that.
func happened(event *corev1.Event) time.Time {
	switch {
	case event.Series != nil:
		return event.Series.LastObservedTime.Time
	case !event.LastTimestamp.IsZero():
		return event.LastTimestamp.Time
	case !event.EventTime.IsZero():
		return event.EventTime.Time
	}
	return event.CreationTimestamp.Time
}
