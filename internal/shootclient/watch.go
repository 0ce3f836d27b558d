// SPDX-License-Identifier: Apache-2.0

package shootclient

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
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
		maps.DeleteFunc(waiting, func(kind schema.GroupVersionKind, ready toolscache.InformerSynced) bool {
			return ready() || s.refused.has(kind)
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
func (s *Shoot) start(ctx context.Context, kinds []schema.GroupVersionKind) (map[schema.GroupVersionKind]toolscache.InformerSynced, error) {
	if err := s.askAgain(ctx, kinds); err != nil {
		return nil, err
	}
	waiting := map[schema.GroupVersionKind]toolscache.InformerSynced{}
	for _, kind := range kinds {
		ready, err := s.watch(ctx, kind)
		if err != nil {
			return nil, err
		}
		if !ready() {
			waiting[kind] = ready
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

func (s *Shoot) watch(ctx context.Context, kind schema.GroupVersionKind) (toolscache.InformerSynced, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.refused.has(kind) {
		return func() bool { return true }, nil
	}
	if ready, ok := s.watched[kind]; ok {
		return ready, nil
	}
	declared := s.declared.of(kind)
	informer, err := s.cache.GetInformer(ctx, declared.empty(), cache.BlockUntilSynced(false))
	if err != nil {
		return nil, s.Failure(err)
	}
	s.watched[kind] = informer.HasSynced
	if !declared.Silent {
		registration, err := informer.AddEventHandler(s.handler(kind))
		if err != nil {
			return nil, err
		}
		s.watched[kind] = registration.HasSynced
	}
	return s.watched[kind], nil
}

// unwatchKind ends the watches of a custom kind whose definition is gone. If the
// definition comes back, the next Watch starts afresh and need not wait until
// the old watch tries again.
func (s *Shoot) unwatchKind(gone schema.GroupKind) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for kind := range s.watched {
		if kind.GroupKind() == gone {
			delete(s.watched, kind)
			_ = s.cache.RemoveInformer(context.Background(), s.declared.of(kind).empty())
		}
	}
}

// Cached returns an object from the cache, in the form that its Watch declares.
func (s *Shoot) Cached(ctx context.Context, kind schema.GroupVersionKind, key types.NamespacedName) (client.Object, error) {
	object := s.declared.of(kind).empty()
	err := s.Reader.Get(ctx, key, object)
	return object, err
}

// reader reads from the cache, and only what the cache is meant for.
type reader struct{ shoot *Shoot }

// Get implements client.Reader.
func (r *reader) Get(ctx context.Context, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
	kind, err := apiutil.GVKForObject(object, scheme)
	if err != nil {
		return err
	}
	if selected := r.shoot.declared.of(kind).Fields; selected != nil &&
		!selected.Matches(fields.Set{"metadata.namespace": key.Namespace, "metadata.name": key.Name}) {
		return fmt.Errorf("%s %s cannot be read from the cache, which has those with %s", kind.Kind, key, selected)
	}
	if err := r.prepare(ctx, kind, object); err != nil {
		return err
	}
	return r.shoot.cache.Get(ctx, key, object, options...)
}

// List implements client.Reader.
func (r *reader) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	kind, err := apiutil.GVKForObject(list, scheme)
	if err != nil {
		return err
	}
	if n := len(kind.Kind) - len("List"); n > 0 && meta.IsListType(list) {
		kind.Kind = kind.Kind[:n]
	}
	if err := r.prepare(ctx, kind, list); err != nil {
		return err
	}
	return r.shoot.cache.List(ctx, list, options...)
}

func (r *reader) prepare(ctx context.Context, kind schema.GroupVersionKind, object any) error {
	_, single := object.(*metav1.PartialObjectMetadata)
	_, list := object.(*metav1.PartialObjectMetadataList)
	if metadataOnly := single || list; metadataOnly == r.shoot.declared.of(kind).Typed {
		return fmt.Errorf("%s cannot be read from the cache as %T", kind.Kind, object)
	}
	return r.shoot.Watch(ctx, kind)
}
