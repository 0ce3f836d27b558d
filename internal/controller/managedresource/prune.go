// SPDX-License-Identifier: Apache-2.0

package managedresource

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	resourcesv1alpha1 "github.com/trellis-network/trellis/api/resources/v1alpha1"
	"github.com/trellis-network/trellis/internal/shootclient"
)

// nudgedAnnotation on a CRD is when its deletion was last triggered again.
const nudgedAnnotation = "trellis.network/deletion-nudged-at"

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
	type end struct {
		live  *metav1.PartialObjectMetadata
		err   error
		begun bool
	}
	ends := make([]end, len(refs))
	atOnce(refs, func(i int, ref reference) bool {
		live, err := p.delete(ctx, &ref)
		ends[i] = end{live, err, true}
		return err == nil
	})
	for i, ref := range refs {
		switch of := &ends[i]; {
		case of.err != nil && err == nil:
			err = fmt.Errorf("delete %s: %w", identityOf(&ref), of.err)
		case !of.begun || of.err != nil:
		case of.live == nil:
			gone = append(gone, ref)
		default:
			pending = append(pending, remaining{ref, of.live})
		}
	}
	return gone, pending, err
}

// delete deletes one object. It returns what remains of it, or nil if it is gone or must
// not be deleted. In a shared cluster an object outside of the namespace cannot be ours, and
// what another ManagedResource has taken over is not any more.
func (p *pruner) delete(ctx context.Context, ref *reference) (*metav1.PartialObjectMetadata, error) {
	if p.options.Confined && ref.Namespace != p.mr.Namespace {
		return nil, nil
	}
	if remains, deleted, err := p.deleteKnown(ctx, ref); deleted || err != nil {
		return remains, err
	}
	live, err := liveMetadata(ctx, p.shoot, ref)
	if err != nil || live == nil || truthy(live.Annotations[resourcesv1alpha1.KeepObject]) {
		return nil, err
	}
	if other, err := p.owners.other(ctx, identityOf(ref), live); other != nil || err != nil {
		return nil, err
	}
	if live.DeletionTimestamp.IsZero() {
		return p.requestDeletion(ctx, ref, live, nil)
	}
	return live, p.nudge(ctx, live)
}

// deleteKnown deletes an object as the cache has it, so that no request reads it, and reports
// whether it has. It leaves alone what the cache does not have, or has with a sign that the object
// may have to stay, and what has changed since. A deletion that goes on is believed for as long
// as objects that are being deleted are not read again.
func (p *pruner) deleteKnown(ctx context.Context, ref *reference) (remains *metav1.PartialObjectMetadata, deleted bool, err error) {
	known := p.shoot.Known(kindOf(ref), identityOf(ref).NamespacedName)
	if known == nil || has(known.Annotations, resourcesv1alpha1.KeepObject) {
		return nil, false, nil
	}
	if !known.DeletionTimestamp.IsZero() {
		since := p.options.Clock.Now().Sub(known.DeletionTimestamp.Time)
		return known, since >= 0 && since < p.options.DeletionInterval, nil
	}
	if other, err := p.owners.other(ctx, identityOf(ref), known); other != nil || err != nil {
		return nil, false, nil
	}
	remains, err = p.requestDeletion(ctx, ref, known, &known.ResourceVersion)
	if apierrors.IsConflict(err) {
		return nil, false, nil
	}
	return remains, true, err
}

// requestDeletion deletes an object, if it still is the one that was found and, unless that is
// nil, in this version. It returns what remains of it, or nil if it is gone.
func (p *pruner) requestDeletion(ctx context.Context, ref *reference, found *metav1.PartialObjectMetadata, version *string) (*metav1.PartialObjectMetadata, error) {
	options := &client.DeleteOptions{Preconditions: &metav1.Preconditions{UID: ptr.To(found.UID), ResourceVersion: version}}
	switch kindOf(ref).Group {
	case "apps", "batch":
		options.PropagationPolicy = ptr.To(metav1.DeletePropagationForeground)
	}
	remains, told, err := p.shoot.Delete(ctx, found, options)
	if told || client.IgnoreNotFound(err) != nil {
		return remains, err
	}
	return liveMetadata(ctx, p.shoot, ref)
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
