// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
)

// patience is how long a test waits for what happens by itself. Kubernetes' garbage
// collector, which deletions wait for, pauses when the kinds of a cluster change.
const patience = 2 * time.Minute

// observer sees every version of a Network, and checks each as soon as it comes.
type observer struct {
	mutex    sync.Mutex
	versions []*unstructured.Unstructured // nil is a Network that is gone
	more     chan struct{}                // closed when there is another version
	seen     int                          // how many of them the gardenlet has seen
	lies     []string
	specs    map[int64]extensionsv1alpha1.NetworkSpec
	last     *extensionsv1alpha1.Network
	// applied reports whether, by now, the shoot has what a spec states.
	applied func(extensionsv1alpha1.NetworkSpec) bool
}

// watchNetworks begins to see a control plane's Network, until ctx ends.
func watchNetworks(ctx context.Context, c client.WithWatch, namespace string, applied func(extensionsv1alpha1.NetworkSpec) bool) (*observer, error) {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(extensionsv1alpha1.GroupVersion.WithKind("NetworkList"))
	events, err := c.Watch(ctx, list, client.InNamespace(namespace))
	if err != nil {
		return nil, err
	}
	w := &observer{more: make(chan struct{}), applied: applied, specs: map[int64]extensionsv1alpha1.NetworkSpec{}}
	go func() {
		for event := range events.ResultChan() {
			if n, ok := event.Object.(*unstructured.Unstructured); ok {
				w.take(n, event.Type == watch.Deleted)
			}
		}
	}()
	return w, nil
}

func (w *observer) take(n *unstructured.Unstructured, gone bool) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.checkVersion(n)
	if gone {
		n, w.last = nil, nil
		clear(w.specs)
	}
	w.versions = append(w.versions, n)
	close(w.more)
	w.more = make(chan struct{})
}

// checkVersion notes what would mislead a client that reads just this version.
func (w *observer) checkVersion(raw *unstructured.Unstructured) {
	n := &extensionsv1alpha1.Network{}
	text, _ := json.Marshal(raw)
	if err := json.Unmarshal(text, n); err != nil {
		w.lie("cannot be decoded: %v", err)
		return
	}
	w.specs[n.Generation] = n.Spec
	defer func() { w.last = n }()
	operation := n.Status.LastOperation
	if operation == nil {
		return
	}
	if n.Status.ObservedGeneration > n.Generation {
		w.lie("generation %d of %d is observed", n.Status.ObservedGeneration, n.Generation)
	}
	switch operation.State {
	case "Processing":
		w.checkProcessing(n)
	case "Error":
		if n.Status.LastError == nil || n.Status.LastError.Description != operation.Description {
			w.lie("lastError is %v, but lastOperation says %q", n.Status.LastError, operation.Description)
		}
	case "Succeeded":
		w.checkSucceeded(n)
	default:
		w.lie("an extension never says %s", operation.State)
	}
	if w.last != nil && w.last.Status.LastOperation != nil && operation.LastUpdateTime.Before(&w.last.Status.LastOperation.LastUpdateTime) {
		w.lie("the time of the last operation goes back to %s", operation.LastUpdateTime)
	}
}

func (w *observer) checkProcessing(n *extensionsv1alpha1.Network) {
	if w.last != nil && w.last.Status.ObservedGeneration != n.Status.ObservedGeneration {
		w.lie("Processing has changed the observed generation to %d", n.Status.ObservedGeneration)
	}
	if w.last != nil && w.last.Status.LastError != nil && n.Status.LastError == nil {
		w.lie("Processing has removed the error %q", w.last.Status.LastError.Description)
	}
}

func (w *observer) checkSucceeded(n *extensionsv1alpha1.Network) {
	if n.Status.LastError != nil {
		w.lie("it has succeeded with the error %q", n.Status.LastError.Description)
	}
	before := w.last
	if before != nil && before.Status.LastOperation != nil && *before.Status.LastOperation == *n.Status.LastOperation {
		return
	}
	switch n.Status.LastOperation.Type {
	case "Create", "Reconcile", "Restore":
		if spec, known := w.specs[n.Status.ObservedGeneration]; known && w.applied != nil && !w.applied(spec) {
			w.lie("%s has succeeded before the spec of generation %d was applied", n.Status.LastOperation.Type, n.Status.ObservedGeneration)
		}
	}
}

func (w *observer) lie(format string, values ...any) {
	w.lies = append(w.lies, fmt.Sprintf("version %d: ", len(w.versions))+fmt.Sprintf(format, values...))
}

// next returns the oldest version that the gardenlet has not seen, as soon as there
// is one. So a gardenlet that polls with it meets them all, as its cache would show
// them, and none twice.
func (w *observer) next(ctx context.Context) (*unstructured.Unstructured, error) {
	limited, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		w.mutex.Lock()
		more := w.more
		if w.seen < len(w.versions) {
			n := w.versions[w.seen]
			w.seen++
			w.mutex.Unlock()
			if n == nil {
				return nil, apierrors.NewNotFound(schema.GroupResource{Group: "extensions.gardener.cloud", Resource: "networks"}, "")
			}
			return n.DeepCopy(), nil
		}
		w.mutex.Unlock()
		select {
		case <-more:
		case <-limited.Done():
			return nil, fmt.Errorf("nothing has become of the Network in %s; its versions:\n%s", patience, w.story())
		}
	}
}

// forget makes the gardenlet see only what comes from now on.
func (w *observer) forget() {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.seen = len(w.versions)
}

// again shows the gardenlet the last version that was seen once more.
func (w *observer) again() {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.seen = max(0, w.seen-1)
}

// story tells all versions, one a line.
func (w *observer) story() string {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	var lines []string
	for i, n := range w.versions {
		line := fmt.Sprintf("%3d: ", i)
		if n == nil {
			lines = append(lines, line+"gone")
			continue
		}
		operation, _, _ := unstructured.NestedMap(n.Object, "status", "lastOperation")
		observed, _, _ := unstructured.NestedInt64(n.Object, "status", "observedGeneration")
		failed, _, _ := unstructured.NestedString(n.Object, "status", "lastError", "description")
		annotations := n.GetAnnotations()
		lines = append(lines, line+fmt.Sprintf("%d/%d %v/%v %v asked %s %q finalizers %v deleted %v error %q", observed, n.GetGeneration(),
			operation["type"], operation["state"], operation["lastUpdateTime"], annotations["gardener.cloud/timestamp"],
			annotations["gardener.cloud/operation"], n.GetFinalizers(), n.GetDeletionTimestamp() != nil, failed))
	}
	return strings.Join(lines, "\n")
}

// trust makes it believe from now on that what succeeds is applied.
func (w *observer) trust() {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.applied = nil
}

// allLies are what would have misled a client.
func (w *observer) allLies() []string {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	return append([]string(nil), w.lies...)
}
