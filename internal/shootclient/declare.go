// SPDX-License-Identifier: Apache-2.0

package shootclient

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	resourcesv1alpha1 "github.com/trellis-network/trellis/api/resources/v1alpha1"
	"github.com/trellis-network/trellis/internal/keyed"
)

// Watch declares what a controller reads of one kind in shoots. A shoot has one cache with
// the union of what all controllers declare. A kind that none declares is cached as
// metadata of the managed objects. No kind is watched before it is read first.
type Watch struct {
	Kind schema.GroupVersionKind
	// Selector selects the objects by their labels. Nil selects the managed ones.
	Selector labels.Selector
	// Fields selects the objects by their fields. Nil selects all.
	Fields fields.Selector
	// Typed means that the objects are cached with what strip leaves of spec and status,
	// rather than as metadata. The kind must be one that strip knows.
	Typed bool
	// Silent means that changes of the objects are no Events.
	Silent bool
	// Relevant reports whether a change of an object, as it is cached, is an Event. Nil means
	// that each change is one.
	Relevant func(before, after client.Object) bool
}

// InSystem selects the namespace kube-system, where a network has its workloads.
var InSystem = fields.OneTermEqualSelector("metadata.namespace", metav1.NamespaceSystem)

// Nodes declares all nodes, with the spec's ranges of pods and providerID, what shows that they are
// about to go (see IsLeaving), and the conditions.
var Nodes = Watch{
	Kind: corev1.SchemeGroupVersion.WithKind("Node"), Selector: labels.Everything(), Typed: true, Silent: true,
}

// declarations are the unions of what was declared, by kind.
type declarations struct {
	kinds keyed.Map[schema.GroupVersionKind, Watch]
}

// Declare adds to what is cached. It must be called before the first shoot is accessed.
func (d *declarations) Declare(watches ...Watch) {
	for _, w := range watches {
		d.kinds.Update(w.Kind, func(others Watch, declared bool) (Watch, bool) {
			if declared {
				w = w.union(others)
			}
			return w, true
		})
	}
}

// of returns what is cached of a kind.
func (d *declarations) of(kind schema.GroupVersionKind) Watch {
	w, _ := d.kinds.Get(kind)
	w.Kind = kind
	return w
}

// union selects what either selects.
func (w Watch) union(other Watch) Watch {
	w.Relevant = eitherRelevant(w, other)
	w.Typed, w.Silent = w.Typed || other.Typed, w.Silent && other.Silent
	if (w.Selector == nil) != (other.Selector == nil) || w.Selector != nil && w.Selector.String() != other.Selector.String() {
		w.Selector = labels.Everything()
	}
	if w.Fields == nil || other.Fields == nil || w.Fields.String() != other.Fields.String() {
		w.Fields = nil
	}
	return w
}

// eitherRelevant returns which changes are Events for either. A silent Watch wants none.
func eitherRelevant(w, other Watch) func(before, after client.Object) bool {
	switch {
	case w.Silent:
		return other.Relevant
	case other.Silent:
		return w.Relevant
	case w.Relevant == nil || other.Relevant == nil:
		return nil
	}
	return func(before, after client.Object) bool {
		return w.Relevant(before, after) || other.Relevant(before, after)
	}
}

// empty returns an empty object in the form in which the kind is cached.
func (w Watch) empty() client.Object {
	if w.Typed {
		if typed, err := scheme.New(w.Kind); err == nil {
			return typed.(client.Object)
		}
	}
	object := &metav1.PartialObjectMetadata{}
	object.SetGroupVersionKind(w.Kind)
	return object
}

// emptyList returns an empty list of objects in the form in which the kind is cached.
func (w Watch) emptyList() client.ObjectList {
	kind := w.Kind.GroupVersion().WithKind(w.Kind.Kind + "List")
	if w.Typed {
		if typed, err := scheme.New(kind); err == nil {
			return typed.(client.ObjectList)
		}
	}
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(kind)
	return list
}

// selecting restricts what a reflector lists and watches to what is declared. It makes the
// reflector list in pages, and ends a list that has too many or takes too long, or of which
// admit refuses an object.
func (w Watch) selecting(all toolscache.ListerWatcher, managedBy string, admit func(runtime.Object) error) toolscache.ListerWatcher {
	selector := labels.SelectorFromSet(labels.Set{resourcesv1alpha1.ManagedBy: managedBy})
	if w.Selector != nil {
		selector = w.Selector
	}
	selected := func(options metav1.ListOptions) metav1.ListOptions {
		options.LabelSelector = selector.String()
		if w.Fields != nil {
			options.FieldSelector = w.Fields.String()
		}
		return options
	}
	from := toolscache.ToListerWatcherWithContext(all)
	page, deadline := 0, time.Time{} // of the one list at a time
	return &toolscache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			if options.Continue == "" {
				page, deadline = 0, time.Now().Add(listTimeout)
			}
			if page++; page > maxPages {
				return nil, fmt.Errorf("the list has more than %d pages of %d objects", maxPages, pageSize)
			}
			ctx, cancel := context.WithDeadline(ctx, deadline)
			defer cancel()
			// For any version, an API server answers with all objects at once.
			options.ResourceVersion, options.ResourceVersionMatch, options.Limit = "", "", pageSize
			listed, err := from.ListWithContext(ctx, selected(options))
			if err == nil {
				err = meta.EachListItem(listed, admit)
			}
			return listed, err
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			return from.WatchWithContext(ctx, selected(options))
		},
	}
}
