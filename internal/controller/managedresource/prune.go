// SPDX-License-Identifier: Apache-2.0

package managedresource

import (
	"context"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	resourcesv1alpha1 "github.com/trellis-network/trellis/api/resources/v1alpha1"
	"github.com/trellis-network/trellis/internal/shootclient"
)

const (
	// parallelDeletions bounds the requests for deletion at the same time.
	parallelDeletions = 10
	// nudgedAnnotation on a CRD is when its deletion was last triggered again.
	nudgedAnnotation = "trellis.network/deletion-nudged-at"
)

// pruner deletes objects of one ManagedResource from its shoot.
type pruner struct {
	shoot   *shootclient.Shoot
	owners  *owners
	mr      *resourcesv1alpha1.ManagedResource
	options *Options
}

// remaining is an object that is being deleted and not yet gone.
type remaining struct {
	ref  reference
	live *metav1.PartialObjectMetadata
}

// prune deletes objects in phases. It returns which of them are gone, or must not be deleted,
// and which of a phase are not gone yet, so that the next one waits.
func (p *pruner) prune(ctx context.Context, refs []reference) (gone []reference, pending []remaining, err error) {
	for _, phase := range deletionPhases(refs) {
		var went []reference
		went, pending, err = p.pruneAtOnce(ctx, phase)
		if gone = append(gone, went...); err != nil || len(pending) > 0 {
			break
		}
	}
	return gone, pending, err
}

func (p *pruner) pruneAtOnce(ctx context.Context, refs []reference) (gone []reference, pending []remaining, err error) {
	var mu sync.Mutex
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(parallelDeletions)
	for _, ref := range refs {
		group.Go(func() error {
			live, err := p.delete(ctx, &ref)
			if err != nil {
				return fmt.Errorf("delete %s: %w", identityOf(&ref), err)
			}
			mu.Lock()
			defer mu.Unlock()
			if live == nil {
				gone = append(gone, ref)
			} else {
				pending = append(pending, remaining{ref, live})
			}
			return nil
		})
	}
	err = group.Wait()
	return gone, pending, err
}

// delete deletes one object. It returns what remains of it, or nil if it is gone or must
// not be deleted. In a shared cluster an object outside of the namespace cannot be ours, and
// what another ManagedResource has taken over is not any more.
func (p *pruner) delete(ctx context.Context, ref *reference) (*metav1.PartialObjectMetadata, error) {
	if p.options.Confined && ref.Namespace != p.mr.Namespace {
		return nil, nil
	}
	live, err := liveMetadata(ctx, p.shoot, ref)
	if err != nil || live == nil || truthy(live.Annotations[resourcesv1alpha1.KeepObject]) {
		return nil, err
	}
	if other, err := p.owners.other(ctx, identityOf(ref), live); other != nil || err != nil {
		return nil, err
	}
	if live.DeletionTimestamp.IsZero() {
		if err := p.requestDeletion(ctx, ref, live); err != nil {
			return nil, err
		}
		return liveMetadata(ctx, p.shoot, ref)
	}
	return live, p.nudge(ctx, live)
}

func (p *pruner) requestDeletion(ctx context.Context, ref *reference, live *metav1.PartialObjectMetadata) error {
	options := &client.DeleteOptions{Preconditions: &metav1.Preconditions{UID: ptr.To(live.UID)}}
	switch kindOf(ref).Group {
	case "apps", "batch":
		options.PropagationPolicy = ptr.To(metav1.DeletePropagationForeground)
	}
	return client.IgnoreNotFound(p.shoot.Client.Delete(ctx, live, options))
}

// nudge annotates a CRD whose deletion takes long. The API server deletes a CRD's custom
// resources first. When that fails, as it does for CRDs that are only seconds old, and
// its retry meets a conflict, the API server does not retry for five minutes,
// unless something other than its status changes.
func (p *pruner) nudge(ctx context.Context, live *metav1.PartialObjectMetadata) error {
	now := p.options.Clock.Now()
	if !isCRD(live.GroupVersionKind().GroupKind()) || now.Sub(live.DeletionTimestamp.Time) < p.options.DeletionInterval {
		return nil
	}
	return patchMetadata(ctx, p.shoot, live, `{"annotations":{%q:%q}}`, nudgedAnnotation, now.UTC().Format(time.RFC3339))
}

// liveMetadata returns nil if the object, or its kind, does not exist. If the shoot does
// not serve the version in the inventory any more, it reads another one.
func liveMetadata(ctx context.Context, shoot *shootclient.Shoot, ref *reference) (*metav1.PartialObjectMetadata, error) {
	kind, mapper := kindOf(ref), shoot.Client.RESTMapper()
	if _, err := mapper.RESTMapping(kind.GroupKind(), kind.Version); meta.IsNoMatchError(err) {
		mapping, err := mapper.RESTMapping(kind.GroupKind())
		if err != nil {
			return nil, shoot.UnlessGone(kind.GroupKind(), err)
		}
		kind = mapping.GroupVersionKind
	}
	live := &metav1.PartialObjectMetadata{}
	live.SetGroupVersionKind(kind)
	if err := shoot.Client.Get(ctx, identityOf(ref).NamespacedName, live); err != nil {
		return nil, shoot.UnlessGone(kind.GroupKind(), err)
	}
	return live, nil
}
