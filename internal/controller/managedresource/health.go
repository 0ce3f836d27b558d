// SPDX-License-Identifier: Apache-2.0

package managedresource

import (
	"context"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	resourcesv1alpha1 "github.com/trellis-network/trellis/api/resources/v1alpha1"
	"github.com/trellis-network/trellis/internal/shootclient"
)

// health is the first problem of each sort, in the order of the inventory.
type health struct{ unhealthy, progressing *problem }

// problem is what the conditions tell of one object.
type problem struct{ kind, message string }

// healthChecker checks the objects of one ManagedResource.
type healthChecker struct {
	shoot    *shootclient.Shoot
	observed *observations
	found    health
	// again is when to check again, if no event will tell; 0 means that one will.
	again time.Duration
}

// check checks the objects in an inventory, which a run has just found to exist. It
// returns nil while the cache does not show what was applied, and when to check again.
func (h *healthChecker) check(ctx context.Context, refs []reference) (*health, time.Duration, error) {
	for i := range refs {
		ref := &refs[i]
		if ref.Annotations[resourcesv1alpha1.SkipHealthCheck] == "true" {
			continue
		}
		object, current, err := h.read(ctx, ref)
		if err == nil && !current {
			return nil, cacheLag, nil
		}
		if err == nil && object != nil {
			h.found.add(identityOf(ref), object)
		}
		if err != nil {
			return nil, 0, h.shoot.Failure(err)
		}
	}
	return &h.found, h.again, nil
}

// read reads an object from the cache. It returns false if the cache does not show what
// was applied, and no object if there is nothing to check.
func (h *healthChecker) read(ctx context.Context, ref *reference) (object client.Object, current bool, err error) {
	id := identityOf(ref)
	last, observed := h.observed.objects[id]
	createOnly := truthy(ref.Annotations[resourcesv1alpha1.Ignore])
	if !observed && !createOnly {
		return nil, true, nil
	}
	object, err = h.shoot.Cached(ctx, kindOf(ref), id.NamespacedName)
	if !createOnly {
		if apierrors.IsNotFound(err) {
			return nil, false, nil
		}
		return object, err != nil || object.GetUID() == last.uid && object.GetGeneration() >= last.generation, err
	}
	// It may lack the label that the cache selects by, and the origin, so that its events
	// reach no ManagedResource.
	if apierrors.IsNotFound(err) && hasHealth(kindOf(ref)) {
		object, err = h.shoot.Live(ctx, kindOf(ref), id.NamespacedName)
	}
	if err != nil {
		return nil, true, client.IgnoreNotFound(err)
	}
	if unhealthy(object) != "" || progressing(object) != "" {
		h.again = unwatchedInterval
	}
	return object, true, nil
}

// hasHealth reports whether the health of objects of a kind is in their status.
func hasHealth(kind schema.GroupVersionKind) bool {
	return slices.ContainsFunc(typedKinds, func(w shootclient.Watch) bool { return w.Kind == kind })
}

// add adds what is wrong with an object, and how it is rolled out, unless another object
// came first.
func (h *health) add(id identity, object client.Object) {
	if text := unhealthy(object); text != "" && h.unhealthy == nil {
		h.unhealthy = &problem{id.Kind, fmt.Sprintf("%s %s.", id, text)}
	}
	if text := progressing(object); text != "" && h.progressing == nil {
		h.progressing = &problem{id.Kind, fmt.Sprintf("%s %s.", id, text)}
	}
}
