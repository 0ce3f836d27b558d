// SPDX-License-Identifier: Apache-2.0

package garbagecollector

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
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

// collect deletes what was created before a time and is not referred to. It
// returns when the next object will be old enough, from then on, or 0.
func (t *target) collect(ctx context.Context, before time.Time) (young time.Duration, err error) {
	var old []metav1.PartialObjectMetadata
	for _, kind := range collectable {
		err := t.list(ctx, kind, t.scope, func(object *metav1.PartialObjectMetadata) {
			switch age := object.CreationTimestamp.Sub(before); {
			case !object.DeletionTimestamp.IsZero():
			case age < 0:
				old = append(old, *object)
			case young == 0 || age < young:
				// Creation times are whole seconds.
				young = age + time.Second
			}
		}, client.MatchingLabels{resourcesv1alpha1.GarbageCollectable: "true"})
		if err != nil {
			return 0, err
		}
	}
	if len(old) == 0 {
		return young, nil
	}
	found, err := t.referencesTo(ctx, old)
	if err != nil {
		return 0, err
	}
	return young, t.deleteUnless(ctx, found, old)
}

// deleteUnless deletes those objects that are not referred to, unless somebody has
// changed them meanwhile.
func (t *target) deleteUnless(ctx context.Context, found references, objects []metav1.PartialObjectMetadata) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(parallelDeletions)
	for i := range objects {
		object := &objects[i]
		if found[referenceTo(object)] {
			continue
		}
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
