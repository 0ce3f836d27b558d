// SPDX-License-Identifier: Apache-2.0

package shootclient

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
)

// Watch starts to watch the kinds that are not watched yet, and returns when all of them
// are in the cache. It is an error if that takes too long; the watches continue, and a
// later call may find them ready. A kind that the shoot does not have gives a no-match
// error (see meta.IsNoMatchError), and one that the credentials may not list or watch a
// *RefusedError.
func (s *Shoot) Watch(ctx context.Context, kinds ...schema.GroupVersionKind) error {
	waiting, err := s.start(ctx, kinds)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, s.options.SyncTimeout)
	defer cancel()
	err = wait.PollUntilContextCancel(ctx, 10*time.Millisecond, true, func(context.Context) (bool, error) {
		maps.DeleteFunc(waiting, func(kind schema.GroupVersionKind, cached *objects) bool {
			return cached.ready() || s.refused.has(kind)
		})
		return len(waiting) == 0, nil
	})
	if refused := s.refusal(kinds); refused != nil {
		return refused
	}
	if err != nil {
		return s.Failure(fmt.Errorf("the shoot did not list its objects of kind %s within %s",
			kindNames(slices.Collect(maps.Keys(waiting))), s.options.SyncTimeout))
	}
	return nil
}

// StartWatch does as Watch does, but does not wait: it reports whether all kinds are in the
// cache. An API server that begins to serve a kind asks for a second until it is listed.
func (s *Shoot) StartWatch(ctx context.Context, kinds ...schema.GroupVersionKind) (ready bool, err error) {
	waiting, err := s.start(ctx, kinds)
	if err != nil {
		return false, err
	}
	return len(waiting) == 0, s.refusal(kinds)
}

// start starts to watch the kinds that are not watched yet, and returns those that are not in
// the cache.
func (s *Shoot) start(ctx context.Context, kinds []schema.GroupVersionKind) (map[schema.GroupVersionKind]*objects, error) {
	if err := s.askAgain(ctx, kinds); err != nil {
		return nil, err
	}
	waiting := map[schema.GroupVersionKind]*objects{}
	for _, kind := range kinds {
		cached, err := s.watch(kind)
		if err != nil {
			return nil, err
		}
		if cached != nil && !cached.ready() {
			waiting[kind] = cached
		}
	}
	return waiting, nil
}

// kindNames lists the names of kinds.
func kindNames(kinds []schema.GroupVersionKind) string {
	var names []string
	for _, kind := range kinds {
		names = append(names, kind.Kind)
	}
	slices.Sort(names)
	return strings.Join(slices.Compact(names), ", ")
}

// watch returns the cache of a kind, and starts to fill it if that is not done yet. It returns nil
// for a kind that is refused.
func (s *Shoot) watch(kind schema.GroupVersionKind) (*objects, error) {
	if s.refused.has(kind) {
		return nil, nil
	}
	if cached := s.cached(kind); cached != nil {
		return cached, nil
	}
	if _, err := s.mapper.RESTMapping(kind.GroupKind(), kind.Version); err != nil {
		return nil, s.Failure(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if cached := s.watched[kind]; cached != nil {
		return cached, nil
	}
	if s.open.Err() != nil {
		return nil, errClosed
	}
	declared := s.declared.of(kind)
	cached := s.newObjects(declared)
	ctx, stop := context.WithCancel(s.open)
	cached.stop = stop
	s.watched[kind] = cached
	s.running.Go(func() { s.reflect(ctx, declared, cached) })
	return cached, nil
}

// unwatchKind ends the watches of a custom kind whose definition is gone. If the
// definition comes back, the next Watch starts afresh and need not wait until
// the old watch tries again.
func (s *Shoot) unwatchKind(gone schema.GroupKind) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for kind, cached := range s.watched {
		if kind.GroupKind() == gone {
			delete(s.watched, kind)
			cached.stop()
		}
	}
}
