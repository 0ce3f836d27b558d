// SPDX-License-Identifier: Apache-2.0

package shootclient

import (
	"context"
	"errors"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trellis-network/trellis/internal/keyed"
)

// refusals remembers which kinds the API server did not let be listed or watched.
// A kind that is remembered is not watched: what the cache had of it is not known
// to be true any more.
type refusals struct {
	keyed.Map[schema.GroupVersionKind, refusal]
	clock clock.PassiveClock
}

// refusal is the answer to the last attempt, and when that was.
type refusal struct {
	err error
	at  time.Time
}

func (r *refusals) has(kind schema.GroupVersionKind) bool {
	_, refused := r.Get(kind)
	return refused
}

// note remembers err if it is a refusal, and reports whether it is.
func (r *refusals) note(kind schema.GroupVersionKind, err error) bool {
	var answer apierrors.APIStatus
	if !errors.As(err, &answer) || !apierrors.IsForbidden(err) && !apierrors.IsUnauthorized(err) {
		return false
	}
	r.Set(kind, refusal{err: answer.(error), at: r.clock.Now()})
	return true
}

// refusal returns a *RefusedError about those of the kinds that are refused, or
// nil, and ends their watches.
func (s *Shoot) refusal(kinds []schema.GroupVersionKind) error {
	var denied []schema.GroupVersionKind
	var answer error
	for _, kind := range kinds {
		if refused, ok := s.refused.Get(kind); ok {
			s.unwatchKind(kind.GroupKind())
			denied, answer = append(denied, kind), refused.err
		}
	}
	if len(denied) == 0 || s.secret == "" {
		return answer
	}
	return &RefusedError{Server: s.Server, Secret: s.secret, Err: answer, Denied: "list and watch " + kindNames(denied) + " objects"}
}

// askAgain forgets refusals that do not hold any more, and asks for that only once
// in a while.
func (s *Shoot) askAgain(ctx context.Context, kinds []schema.GroupVersionKind) error {
	for _, kind := range kinds {
		if refused, ok := s.refused.Get(kind); !ok || !s.options.due(refused.at) {
			continue
		}
		if err := s.tryWatch(ctx, kind); err == nil {
			s.unwatchKind(kind.GroupKind())
			s.refused.Delete(kind)
		} else if !s.refused.note(kind, err) {
			return s.Failure(err)
		}
	}
	return nil
}

// tryWatch does what a reflector does, and only to learn whether it is allowed.
func (s *Shoot) tryWatch(ctx context.Context, kind schema.GroupVersionKind) error {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
	if err := s.Client.List(ctx, list, client.Limit(1)); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, s.options.RequestTimeout)
	defer cancel()
	watch, err := s.watches.Watch(ctx, list, &client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: list.ResourceVersion}})
	if err == nil {
		watch.Stop()
	}
	return err
}
