// SPDX-License-Identifier: Apache-2.0

package managedresource

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	resourcesv1alpha1 "github.com/trellis-network/trellis/api/resources/v1alpha1"
)

const (
	// parallelDeletions bounds the requests for deletion at the same time.
	parallelDeletions = 10
	// nudgedAnnotation is when the deletion of a CRD was last reminded of.
	nudgedAnnotation = "trellis.network/deletion-nudged-at"
)

// prune deletes objects and takes them out of the inventory as they are gone. It
// returns *pending while some are not. CRDs go last, so that their custom
// resources are deleted one by one, while somebody may still finalize them, and
// an object that hangs is named.
func (p *pass) prune(ctx context.Context, refs []reference) error {
	var definitions, others []reference
	for _, ref := range refs {
		if isCRD(kindOf(&ref).GroupKind()) {
			definitions = append(definitions, ref)
		} else {
			others = append(others, ref)
		}
	}
	for _, wave := range [][]reference{others, definitions} {
		if err := p.pruneWave(ctx, wave); err != nil {
			return err
		}
	}
	return nil
}

func (p *pass) pruneWave(ctx context.Context, refs []reference) error {
	var mu sync.Mutex
	var gone []reference
	var remaining []*remnant
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(parallelDeletions)
	for _, ref := range refs {
		group.Go(func() error {
			live, err := p.delete(groupCtx, &ref)
			if err != nil {
				return fmt.Errorf("delete %s: %w", identityOf(&ref), err)
			}
			mu.Lock()
			defer mu.Unlock()
			if live == nil {
				gone = append(gone, ref)
			} else {
				remaining = append(remaining, &remnant{ref, live})
			}
			return nil
		})
	}
	err := group.Wait()
	p.mr.Status.Resources = without(p.mr.Status.Resources, gone)
	for i := range gone {
		delete(p.record.seen, identityOf(&gone[i]))
	}
	if err != nil {
		return fail(reasonDeletionFailed, p.shoot.Failure(err))
	}
	if len(remaining) > 0 {
		return &pending{message: p.describe(ctx, remaining)}
	}
	return nil
}

// delete deletes one object. It returns what is left of it, or nil if it is gone,
// or not to be deleted. In a cluster that is shared, what is outside of the
// namespace cannot be ours.
func (p *pass) delete(ctx context.Context, ref *reference) (remaining *metav1.PartialObjectMetadata, err error) {
	if p.options.Confined && ref.Namespace != p.mr.Namespace {
		return nil, nil
	}
	live, err := p.liveMetadata(ctx, ref)
	if err != nil || live == nil || truthy(live.Annotations[resourcesv1alpha1.KeepObject]) || p.isLeftToCollector(ref, live) {
		return nil, err
	}
	if other, err := p.isOfAnother(ctx, ref, live); other || err != nil {
		return nil, err
	}
	if live.DeletionTimestamp.IsZero() {
		if err := p.requestDeletion(ctx, ref, live); err != nil {
			return nil, err
		}
		if live, err = p.liveMetadata(ctx, ref); err != nil || live == nil {
			return nil, err
		}
	} else if err := p.nudge(ctx, live); err != nil {
		return nil, err
	}
	if !p.isOverdue(ref, live) {
		return live, nil
	}
	if err := p.finalize(ctx, ref, live); err != nil {
		return nil, err
	}
	return p.liveMetadata(ctx, ref)
}

// isLeftToCollector says whether the garbage collector is to delete an object.
// Once the ManagedResource itself goes, nobody may look after the target any more.
func (p *pass) isLeftToCollector(ref *reference, live *metav1.PartialObjectMetadata) bool {
	if !p.options.GarbageCollected || p.isDeleted() || p.isTransferred() {
		return false
	}
	kind := kindOf(ref)
	return kind.Group == "" && (kind.Kind == "Secret" || kind.Kind == "ConfigMap") &&
		live.Labels[resourcesv1alpha1.GarbageCollectable] == "true"
}

func (p *pass) requestDeletion(ctx context.Context, ref *reference, live *metav1.PartialObjectMetadata) error {
	options := &client.DeleteOptions{Preconditions: &metav1.Preconditions{UID: ptr.To(live.UID)}}
	switch kindOf(ref).Group {
	case "apps", "extensions", "batch":
		options.PropagationPolicy = ptr.To(metav1.DeletePropagationForeground)
	}
	return client.IgnoreNotFound(p.shoot.Client.Delete(ctx, live, options))
}

// nudge writes a mark on a CRD whose deletion takes long. The API server deletes
// a CRD's custom resources first; when that fails for the moment, as it does for
// CRDs which are only seconds old, and its retry meets a conflict, it does not look
// at the CRD again for five minutes, unless something other than the status
// changes.
func (p *pass) nudge(ctx context.Context, live *metav1.PartialObjectMetadata) error {
	now := p.options.Clock.Now()
	if !isCRD(live.GroupVersionKind().GroupKind()) || now.Sub(live.DeletionTimestamp.Time) < p.options.DeletionInterval {
		return nil
	}
	patch := fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, nudgedAnnotation, now.UTC().Format(time.RFC3339))
	return client.IgnoreNotFound(p.shoot.Client.Patch(ctx, live, client.RawPatch(types.MergePatchType, []byte(patch)), client.FieldOwner(FieldManager)))
}

// liveMetadata returns nil if the object, or its kind, does not exist. If the
// version in the inventory is not served any more, another one of the same kind
// will do.
func (p *pass) liveMetadata(ctx context.Context, ref *reference) (*metav1.PartialObjectMetadata, error) {
	kind := kindOf(ref)
	if _, err := p.shoot.Client.RESTMapper().RESTMapping(kind.GroupKind(), kind.Version); meta.IsNoMatchError(err) {
		mapping, err := p.shoot.Client.RESTMapper().RESTMapping(kind.GroupKind())
		if meta.IsNoMatchError(err) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		kind = mapping.GroupVersionKind
	}
	live := &metav1.PartialObjectMetadata{}
	live.SetGroupVersionKind(kind)
	if err := p.shoot.Client.Get(ctx, identityOf(ref).NamespacedName, live); err != nil {
		if meta.IsNoMatchError(err) {
			return nil, nil
		}
		return nil, client.IgnoreNotFound(err)
	}
	return live, nil
}

// isOfAnother says whether another ManagedResource has taken the object over in
// the meantime: its origin annotation says so, and that ManagedResource agrees.
func (p *pass) isOfAnother(ctx context.Context, ref *reference, live *metav1.PartialObjectMetadata) (bool, error) {
	_, owner, ok := parseOrigin(live.Annotations[resourcesv1alpha1.Origin])
	if !ok || owner.Namespace != p.mr.Namespace || owner.Name == p.mr.Name {
		return false, nil
	}
	other := &resourcesv1alpha1.ManagedResource{}
	if err := p.client.Get(ctx, owner, other); err != nil {
		return false, client.IgnoreNotFound(err)
	}
	return other.DeletionTimestamp.IsZero() && find(other.Status.Resources, identityOf(ref)) != nil, nil
}

// release leaves objects to others which were applied before and are now to be
// ignored: it takes our annotations from them.
func (p *pass) release(ctx context.Context, ids []identity) error {
	for i := range p.mr.Status.Resources {
		ref := &p.mr.Status.Resources[i]
		if !slices.ContainsFunc(ids, func(id identity) bool { return p.same.of(id) == p.same.of(identityOf(ref)) }) {
			continue
		}
		live, err := p.liveMetadata(ctx, ref)
		if err != nil {
			return fail(reasonReleaseFailed, p.shoot.Failure(fmt.Errorf("release %s: %w", identityOf(ref), err)))
		}
		if live == nil {
			continue
		}
		if _, owner, _ := parseOrigin(live.Annotations[resourcesv1alpha1.Origin]); owner != client.ObjectKeyFromObject(p.mr) {
			continue
		}
		patch := fmt.Sprintf(`{"metadata":{"annotations":{%q:null,%q:null}}}`, resourcesv1alpha1.Origin, resourcesv1alpha1.Description)
		if err := p.shoot.Client.Patch(ctx, live, client.RawPatch(types.MergePatchType, []byte(patch)), client.FieldOwner(FieldManager)); client.IgnoreNotFound(err) != nil {
			return fail(reasonReleaseFailed, p.shoot.Failure(fmt.Errorf("release %s: %w", identityOf(ref), err)))
		}
	}
	return nil
}
