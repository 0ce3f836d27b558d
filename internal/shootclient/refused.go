// SPDX-License-Identifier: Apache-2.0

package shootclient

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// refusals remembers which kinds the API server did not let be listed or watched.
// A kind that is remembered is not watched: what the cache had of it is not known
// to be true any more.
type refusals struct {
	clock clock.PassiveClock

	mu    sync.Mutex
	kinds map[schema.GroupVersionKind]*refusal
}

// refusal is the answer to the last attempt, and when that was.
type refusal struct {
	err error
	at  time.Time
}

// of returns the refusal of a kind, or nil.
func (r *refusals) of(kind schema.GroupVersionKind) *refusal {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.kinds[kind]
}

// note remembers err if it is a refusal, and reports whether it is.
func (r *refusals) note(kind schema.GroupVersionKind, err error) bool {
	var answer apierrors.APIStatus
	if !errors.As(err, &answer) || !apierrors.IsForbidden(err) && !apierrors.IsUnauthorized(err) {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.kinds == nil {
		r.kinds = map[schema.GroupVersionKind]*refusal{}
	}
	r.kinds[kind] = &refusal{err: answer.(error), at: r.clock.Now()}
	return true
}

func (r *refusals) forget(kind schema.GroupVersionKind) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.kinds, kind)
}

// newInformer makes an informer whose refusals are remembered rather than logged with each
// attempt.
func (r *refusals) newInformer(kind schema.GroupVersionKind, watch toolscache.ListerWatcher, example runtime.Object, resync time.Duration, indexers toolscache.Indexers) toolscache.SharedIndexInformer {
	informer := toolscache.NewSharedIndexInformer(watch, example, resync, indexers)
	// The error could only say that the informer has started.
	_ = informer.SetWatchErrorHandlerWithContext(func(ctx context.Context, reflector *toolscache.Reflector, err error) {
		if !r.note(kind, err) {
			toolscache.DefaultWatchErrorHandler(ctx, reflector, err)
		}
	})
	return informer
}

// refusal returns a *RefusedError about those of the kinds that are refused, or
// nil, and ends their watches.
func (s *Shoot) refusal(kinds []schema.GroupVersionKind) error {
	var names []string
	var answer error
	for _, kind := range kinds {
		if refused := s.refused.of(kind); refused != nil {
			s.unwatchKind(kind.GroupKind())
			names = append(names, kind.Kind)
			answer = refused.err
		}
	}
	if len(names) == 0 {
		return nil
	}
	if s.secret == "" {
		return answer
	}
	slices.Sort(names)
	return &RefusedError{
		Server: s.Server, Secret: s.secret, Err: answer,
		Denied: "list and watch " + strings.Join(slices.Compact(names), ", ") + " objects",
	}
}

// askAgain forgets refusals that do not hold any more, and asks for that only once
// in a while.
func (s *Shoot) askAgain(ctx context.Context, kinds []schema.GroupVersionKind) error {
	for _, kind := range kinds {
		refused := s.refused.of(kind)
		if refused == nil || !s.options.due(refused.at) {
			continue
		}
		err := s.tryWatch(ctx, kind)
		switch {
		case err == nil:
			s.unwatchKind(kind.GroupKind())
			s.refused.forget(kind)
		case !s.refused.note(kind, err):
			return s.Failure(err)
		}
	}
	return nil
}

// tryWatch does what an informer does, and only to learn whether it is allowed.
func (s *Shoot) tryWatch(ctx context.Context, kind schema.GroupVersionKind) error {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
	if err := s.asks.List(ctx, list, client.Limit(1)); err != nil {
		return err
	}
	watch, err := s.asks.Watch(ctx, list, &client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: list.ResourceVersion}})
	if err != nil {
		return err
	}
	watch.Stop()
	return nil
}
