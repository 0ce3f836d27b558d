// SPDX-License-Identifier: Apache-2.0

package shootclient

import (
	"errors"
	"fmt"
	"reflect"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// objects is the cache of one kind: what a reflector has listed, and the changes that it has
// watched since. An informer of client-go would do the same with twice as many goroutines and
// a buffer of 16 KiB, which counts for hundreds of shoots with a dozen kinds each.
type objects struct {
	kind schema.GroupVersionKind
	// admit prepares an object for the cache, or refuses it.
	admit toolscache.TransformFunc
	// changed is called for each change after the first list. before is nil for an object that
	// is new, after for one that is gone.
	changed func(before, after client.Object)
	// stop ends the reflector.
	stop func()

	mu     sync.RWMutex
	all    map[types.NamespacedName]client.Object
	listed bool
}

var _ toolscache.TransformingStore = &objects{}

// errNoObject is the error of what is no object. Reflectors pass on only those.
var errNoObject = errors.New("not an object of Kubernetes")

// Add implements toolscache.ReflectorStore.
func (o *objects) Add(object any) error {
	admitted, err := o.admit(object)
	if err != nil {
		return err
	}
	after, ok := admitted.(client.Object)
	if !ok {
		return errNoObject
	}
	key := client.ObjectKeyFromObject(after)
	o.mu.Lock()
	before := o.all[key]
	o.all[key] = after
	o.mu.Unlock()
	o.changed(before, after)
	return nil
}

// Update implements toolscache.ReflectorStore.
func (o *objects) Update(object any) error { return o.Add(object) }

// Delete implements toolscache.ReflectorStore.
func (o *objects) Delete(object any) error {
	gone, ok := object.(client.Object)
	if !ok {
		return errNoObject
	}
	key := client.ObjectKeyFromObject(gone)
	o.mu.Lock()
	before := o.all[key]
	delete(o.all, key)
	o.mu.Unlock()
	if before != nil {
		o.changed(before, nil)
	}
	return nil
}

// Replace implements toolscache.ReflectorStore. The objects have been admitted, with the page of
// the list or the event that they came with.
func (o *objects) Replace(list []any, _ string) error {
	all := make(map[types.NamespacedName]client.Object, len(list))
	for _, each := range list {
		object, ok := each.(client.Object)
		if !ok {
			return errNoObject
		}
		all[client.ObjectKeyFromObject(object)] = object
	}
	o.mu.Lock()
	before, again := o.all, o.listed
	o.all, o.listed = all, true
	o.mu.Unlock()
	if !again {
		return nil // what was there when the watch started is no change
	}
	for key, object := range all {
		o.changed(before[key], object)
	}
	for key, object := range before {
		if all[key] == nil {
			o.changed(object, nil)
		}
	}
	return nil
}

// Resync implements toolscache.ReflectorStore.
func (*objects) Resync() error { return nil }

// Transformer implements toolscache.TransformingStore.
func (o *objects) Transformer() toolscache.TransformFunc { return o.admit }

// ready reports whether the objects have been listed.
func (o *objects) ready() bool {
	o.mu.RLock()
	defer o.mu.RUnlock()
	return o.listed
}

// get copies an object into one of the same type.
func (o *objects) get(key types.NamespacedName, into client.Object) error {
	o.mu.RLock()
	object := o.all[key]
	o.mu.RUnlock()
	if object == nil {
		resource, _ := meta.UnsafeGuessKindToResource(o.kind)
		return apierrors.NewNotFound(resource.GroupResource(), key.String())
	}
	from, to := reflect.ValueOf(object.DeepCopyObject()), reflect.ValueOf(into)
	if from.Type() != to.Type() {
		return fmt.Errorf("the cache has %s as %T, not as %T", o.kind.Kind, object, into)
	}
	to.Elem().Set(from.Elem())
	into.GetObjectKind().SetGroupVersionKind(o.kind)
	return nil
}

// list puts the objects that the options select into a list of their type, in no order.
func (o *objects) list(into client.ObjectList, options ...client.ListOption) error {
	var selected client.ListOptions
	selected.ApplyOptions(options)
	if selected.FieldSelector != nil || selected.Limit != 0 || selected.Continue != "" || selected.Raw != nil {
		return errors.New("the cache selects objects by nothing but their namespace and labels")
	}
	var found []runtime.Object
	o.mu.RLock()
	for key, object := range o.all {
		if selected.Namespace != "" && selected.Namespace != key.Namespace ||
			selected.LabelSelector != nil && !selected.LabelSelector.Matches(labels.Set(object.GetLabels())) {
			continue
		}
		found = append(found, object)
	}
	o.mu.RUnlock()
	if selected.UnsafeDisableDeepCopy == nil || !*selected.UnsafeDisableDeepCopy {
		for i, object := range found {
			found[i] = object.DeepCopyObject()
			found[i].GetObjectKind().SetGroupVersionKind(o.kind)
		}
	}
	return meta.SetList(into, found)
}

// newObjects makes the cache of a kind.
func (s *Shoot) newObjects(declared Watch) *objects {
	return &objects{
		kind: declared.Kind, all: map[types.NamespacedName]client.Object{},
		admit: func(object any) (any, error) {
			if metadata, ok := object.(*metav1.PartialObjectMetadata); ok {
				metadata.SetGroupVersionKind(declared.Kind)
			}
			return s.admit(object)
		},
		changed: func(before, after client.Object) { s.changed(declared, before, after) },
	}
}
