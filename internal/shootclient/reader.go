// SPDX-License-Identifier: Apache-2.0

package shootclient

import (
	"context"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// Cached returns an object from the cache, in the form that its Watch declares.
func (s *Shoot) Cached(ctx context.Context, kind schema.GroupVersionKind, key types.NamespacedName) (client.Object, error) {
	object := s.declared.of(kind).empty()
	err := s.Reader.Get(ctx, key, object)
	return object, err
}

// Known returns the metadata of an object as the cache has it, or nil if the cache does not have
// it, or not yet all objects of the kind. Unlike Cached it sends no request.
func (s *Shoot) Known(kind schema.GroupVersionKind, key types.NamespacedName) *metav1.PartialObjectMetadata {
	if !s.HasAll(kind) {
		return nil
	}
	object := s.declared.of(kind).empty()
	if cached := s.cached(kind); cached == nil || cached.get(key, object) != nil {
		return nil
	}
	known := meta.AsPartialObjectMetadata(object)
	known.SetGroupVersionKind(kind)
	return known
}

// HasAll reports whether the cache has all objects of a kind, so that no read of it waits.
func (s *Shoot) HasAll(kind schema.GroupVersionKind) bool {
	cached := s.cached(kind)
	return cached != nil && cached.ready() && !s.refused.has(kind)
}

// cached returns the cache of a kind, or nil if it is not watched.
func (s *Shoot) cached(kind schema.GroupVersionKind) *objects {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.watched[kind]
}

// reader reads from the cache, and only what the cache is meant for.
type reader struct{ shoot *Shoot }

// Get implements client.Reader.
func (r *reader) Get(ctx context.Context, key client.ObjectKey, object client.Object, _ ...client.GetOption) error {
	kind, err := apiutil.GVKForObject(object, scheme)
	if err != nil {
		return err
	}
	if selected := r.shoot.declared.of(kind).Fields; selected != nil &&
		!selected.Matches(fields.Set{"metadata.namespace": key.Namespace, "metadata.name": key.Name}) {
		return fmt.Errorf("%s %s cannot be read from the cache, which has those with %s", kind.Kind, key, selected)
	}
	cached, err := r.prepare(ctx, kind, object)
	if err != nil {
		return err
	}
	return cached.get(key, object)
}

// List implements client.Reader.
func (r *reader) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	kind, err := apiutil.GVKForObject(list, scheme)
	if err != nil {
		return err
	}
	kind.Kind = strings.TrimSuffix(kind.Kind, "List")
	cached, err := r.prepare(ctx, kind, list)
	if err != nil {
		return err
	}
	return cached.list(list, options...)
}

// prepare returns the cache of a kind with all its objects.
func (r *reader) prepare(ctx context.Context, kind schema.GroupVersionKind, object any) (*objects, error) {
	_, single := object.(*metav1.PartialObjectMetadata)
	_, list := object.(*metav1.PartialObjectMetadataList)
	if metadataOnly := single || list; metadataOnly == r.shoot.declared.of(kind).Typed {
		return nil, fmt.Errorf("%s cannot be read from the cache as %T", kind.Kind, object)
	}
	if err := r.shoot.Watch(ctx, kind); err != nil {
		return nil, err
	}
	if cached := r.shoot.cached(kind); cached != nil {
		return cached, nil
	}
	return nil, fmt.Errorf("the watch of %s has just ended; the next attempt starts it again", kind.Kind)
}
