// SPDX-License-Identifier: Apache-2.0

package garbagecollector

import (
	"context"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	resourcesv1alpha1 "github.com/trellis-network/trellis/api/resources/v1alpha1"
)

const (
	// pageSize bounds what an API server is asked for at once.
	pageSize = 500
	// parallelDeletions bounds the requests for deletion at the same time.
	parallelDeletions = 10
)

// collectable are the kinds of which objects are deleted.
var collectable = []schema.GroupVersionKind{
	corev1.SchemeGroupVersion.WithKind("Secret"), corev1.SchemeGroupVersion.WithKind("ConfigMap"),
}

// sightings say since when objects have been found unreferenced, pass after pass.
type sightings map[types.UID]time.Time

// collect deletes what nothing has referred to in this pass and those before it, for as
// long as lifetime. It returns what to remember for the next pass, and when an object
// will have been garbage for long enough, from now on, or 0.
func (t *target) collect(ctx context.Context, before sightings, now time.Time, lifetime time.Duration) (sightings, time.Duration, error) {
	var candidates []metav1.PartialObjectMetadata
	for _, kind := range collectable {
		err := t.list(ctx, kind, t.scope, func(object *metav1.PartialObjectMetadata) {
			if object.DeletionTimestamp.IsZero() {
				candidates = append(candidates, *object)
			}
		}, client.MatchingLabels{resourcesv1alpha1.GarbageCollectable: "true"})
		if err != nil {
			return before, 0, err
		}
	}
	if len(candidates) == 0 {
		return nil, 0, nil
	}
	found, err := t.referencesTo(ctx, candidates)
	if err != nil {
		return before, 0, err
	}
	garbage := slices.DeleteFunc(candidates, func(object metav1.PartialObjectMetadata) bool { return found[referenceTo(&object)] })
	seen, ripe, due := before.next(garbage, now, lifetime)
	return seen, due, t.deleteAll(ctx, ripe)
}

// next returns the sightings after a pass that has found garbage, what of it is ripe,
// having been garbage for as long as lifetime, and when more will be, from now on, or 0.
func (s sightings) next(garbage []metav1.PartialObjectMetadata, now time.Time, lifetime time.Duration) (
	seen sightings, ripe []metav1.PartialObjectMetadata, due time.Duration,
) {
	seen = sightings{}
	for i := range garbage {
		since, known := s[garbage[i].UID]
		if !known {
			since = now
		}
		seen[garbage[i].UID] = since
		if left := lifetime - now.Sub(since); left <= 0 {
			ripe = append(ripe, garbage[i])
		} else if due == 0 || left < due {
			due = left
		}
	}
	return seen, ripe, due
}

// deleteAll deletes objects, unless somebody has changed them meanwhile.
func (t *target) deleteAll(ctx context.Context, objects []metav1.PartialObjectMetadata) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(parallelDeletions)
	for i := range objects {
		object := &objects[i]
		group.Go(func() error {
			err := t.Delete(ctx, object, &client.DeleteOptions{Preconditions: &metav1.Preconditions{
				UID: ptr.To(object.UID), ResourceVersion: ptr.To(object.ResourceVersion),
			}})
			if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
				return nil
			}
			if err != nil {
				return fmt.Errorf("delete %s %s/%s, which nothing refers to: %w", object.Kind, object.Namespace, object.Name, err)
			}
			log.FromContext(ctx).Info("Deleted what nothing refers to any more",
				"kind", object.Kind, "object", client.ObjectKeyFromObject(object).String())
			return nil
		})
	}
	return group.Wait()
}

// list shows each object of a kind, page by page. A kind that the cluster does not
// have has no objects.
func (t *target) list(ctx context.Context, kind schema.GroupVersionKind, namespace string,
	see func(*metav1.PartialObjectMetadata), options ...client.ListOption,
) error {
	page := &metav1.PartialObjectMetadataList{}
	for {
		page.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
		err := t.live.List(ctx, page, append(options, client.InNamespace(namespace), client.Limit(pageSize), client.Continue(page.Continue))...)
		if meta.IsNoMatchError(err) || apierrors.IsNotFound(err) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("list %s objects: %w", kind.Kind, err)
		}
		for i := range page.Items {
			page.Items[i].SetGroupVersionKind(kind)
			see(&page.Items[i])
		}
		if page.Continue == "" {
			return nil
		}
	}
}
