// SPDX-License-Identifier: Apache-2.0

package managedresource

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	resourcesv1alpha1 "github.com/trellis-network/trellis/api/resources/v1alpha1"
	"github.com/trellis-network/trellis/internal/shootclient"
)

// health is the first problem of each sort, in the order of the inventory.
type health struct{ unhealthy, progressing *problem }

// problem is what the conditions report about one object.
type problem struct{ kind, message string }

// healthOf checks the objects in an inventory, which a run has just found to exist. It
// returns nil while the cache does not show what was applied. It does not wait until the API
// server lists a kind that came with its CRD; the next run does.
func healthOf(ctx context.Context, shoot *shootclient.Shoot, observed *observations, refs []reference) (*health, error) {
	if listed, err := shoot.StartWatch(ctx, kindsOf(observed.items)...); err != nil || !listed {
		return nil, err
	}
	found := &health{}
	for i := range refs {
		ref, id := &refs[i], identityOf(&refs[i])
		last, applied := observed.objects.Get(id)
		if !applied || truthy(ref.Annotations[resourcesv1alpha1.SkipHealthCheck]) {
			continue
		}
		object, err := shoot.Cached(ctx, kindOf(ref), id.NamespacedName)
		switch {
		case apierrors.IsNotFound(err):
			return nil, nil
		case err != nil:
			return nil, shoot.Failure(err)
		case object.GetUID() != last.uid || object.GetGeneration() < last.generation:
			return nil, nil
		}
		found.add(id, object)
	}
	return found, nil
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
