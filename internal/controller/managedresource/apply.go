// SPDX-License-Identifier: Apache-2.0

package managedresource

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/fluxcd/pkg/ssa"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/retry"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	resourcesv1alpha1 "github.com/trellis-network/trellis/api/resources/v1alpha1"
)

// establishInterval is how often it is looked whether a CRD is served.
const establishInterval = 200 * time.Millisecond

// apply brings all items into the shoot, in their order, and stops at the first
// one that fails.
func (p *pass) apply(ctx context.Context, d *desired) error {
	if err := p.watch(ctx, d.items); err != nil {
		return fail(reasonApplyFailed, err)
	}
	for _, each := range d.items {
		if err := p.awaitKind(ctx, each, d.items); err != nil {
			return applyError(each, err)
		}
		if err := p.ensure(ctx, each); err != nil {
			return applyError(each, p.shoot.Failure(err))
		}
	}
	return nil
}

func applyError(i *item, err error) error {
	// The API server's own words, without what libraries put around them.
	var status apierrors.APIStatus
	if errors.As(err, &status) && !errors.As(err, new(*recreating)) && !isAboutAccess(err) {
		err = status.(error)
	}
	return fail(reasonApplyFailed, fmt.Errorf("error during apply of object %q: %w",
		fmt.Sprintf("%s/%s/%s/%s", i.ref.APIVersion, i.ref.Kind, i.ref.Namespace, i.ref.Name), err))
}

// watch begins to watch the items' kinds, all at once rather than one after the
// other. Those that CRDs among the items define have to wait for these: even if
// the shoot had them once, the CRD may have been deleted.
func (p *pass) watch(ctx context.Context, items []*item) error {
	var kinds []schema.GroupVersionKind
	seen := map[schema.GroupVersionKind]bool{}
	for _, each := range items {
		kind := kindOf(&each.ref)
		if seen[kind] || definition(items, kind.GroupKind()) != nil {
			continue
		}
		seen[kind] = true
		if _, err := p.shoot.Client.RESTMapper().RESTMapping(kind.GroupKind(), kind.Version); err == nil {
			kinds = append(kinds, kind)
		} else if !meta.IsNoMatchError(err) {
			return p.shoot.Failure(err)
		}
	}
	return p.shoot.Watch(ctx, kinds...)
}

// awaitKind waits until the shoot serves an item's kind, if a CRD among the
// items defines it. Namespaces need no such wait: they take objects at once.
func (p *pass) awaitKind(ctx context.Context, i *item, items []*item) error {
	kind := kindOf(&i.ref)
	crd := definition(items, kind.GroupKind())
	served := func(ctx context.Context) (bool, error) {
		if crd != nil && !p.isEstablished(ctx, crd) {
			return false, nil
		}
		_, err := p.shoot.Client.RESTMapper().RESTMapping(kind.GroupKind(), kind.Version)
		if meta.IsNoMatchError(err) {
			return false, nil
		}
		return err == nil, p.shoot.Failure(err)
	}
	if ok, err := served(ctx); ok || err != nil {
		return err
	}
	noSuchKind := fmt.Errorf("the shoot does not know the kind %s of %s", kind.Kind, kind.GroupVersion())
	if crd == nil {
		return noSuchKind
	}
	err := wait.PollUntilContextTimeout(ctx, establishInterval, p.options.EstablishTimeout, false, served)
	if wait.Interrupted(err) {
		return noSuchKind
	}
	return err
}

// definition returns the CRD among the items that defines a kind, or nil.
func definition(items []*item, kind schema.GroupKind) *item {
	for _, each := range items {
		if isCRD(each.id.GroupKind) && each.object != nil && definedBy(each.object) == kind {
			return each
		}
	}
	return nil
}

// isEstablished says whether a CRD that was applied is served, as far as the
// cache knows. It may be so under names that are not all accepted.
func (p *pass) isEstablished(ctx context.Context, crd *item) bool {
	cached, err := p.shoot.Cached(ctx, kindOf(&crd.ref), crd.id.NamespacedName)
	if err != nil || cached.GetUID() != p.record.seen[crd.id].uid || cached.GetDeletionTimestamp() != nil {
		return false
	}
	served, ok := cached.(*apiextensionsv1.CustomResourceDefinition)
	return ok && slices.ContainsFunc(served.Status.Conditions, func(c apiextensionsv1.CustomResourceDefinitionCondition) bool {
		return c.Type == apiextensionsv1.Established && c.Status == apiextensionsv1.ConditionTrue
	})
}

// ensure makes sure that one item is in the shoot as it is wanted. It sends no
// request if the item is in the cache as it was when it was last right.
func (p *pass) ensure(ctx context.Context, i *item) error {
	cached, err := p.shoot.Cached(ctx, kindOf(&i.ref), i.id.NamespacedName)
	switch {
	case err == nil && i.createOnly:
		return p.leaveAlone(ctx, i, cached)
	case err == nil && p.record.isRight(i, cached):
		return nil
	case apierrors.IsNotFound(err) && !i.createOnly && !p.isExpected(i):
		// Most likely it is not there at all. It may be, without our label, which the
		// cache selects by.
		return p.create(ctx, i)
	case err != nil && !apierrors.IsNotFound(err):
		return err
	}
	live, err := p.live(ctx, i)
	if apierrors.IsNotFound(err) {
		return p.create(ctx, i)
	}
	if err != nil {
		return err
	}
	return p.correct(ctx, i, live)
}

// isExpected says whether an item should be in the shoot already: it was there
// before, as far as is remembered or the status tells.
func (p *pass) isExpected(i *item) bool {
	_, seen := p.record.seen[i.id]
	return seen || p.wasApplied(i)
}

// wasApplied says whether the status tells that the item is in the shoot.
func (p *pass) wasApplied(i *item) bool {
	return isApplied(p.mr) && find(p.mr.Status.Resources, i.id) != nil
}

// correct sees to an object that has been read from the API server.
func (p *pass) correct(ctx context.Context, i *item, live *unstructured.Unstructured) error {
	switch {
	case i.createOnly:
		return p.leaveAlone(ctx, i, live)
	case live.GetDeletionTimestamp() != nil:
		return errBeingDeleted
	case p.record.isRight(i, live):
		return nil
	}
	return p.update(ctx, i, live)
}

// leaveAlone does all that is done to an object which was created once and is
// left to others since: it takes off the warning that changes are reverted.
func (p *pass) leaveAlone(ctx context.Context, i *item, live metav1.Object) error {
	if !has(live.GetAnnotations(), resourcesv1alpha1.Description) {
		return nil
	}
	object := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: i.id.Namespace, Name: i.id.Name}}
	object.SetGroupVersionKind(kindOf(&i.ref))
	patch := fmt.Sprintf(`{"metadata":{"annotations":{%q:null}}}`, resourcesv1alpha1.Description)
	return client.IgnoreNotFound(p.shoot.Client.Patch(ctx, object,
		client.RawPatch(types.MergePatchType, []byte(patch)), client.FieldOwner(FieldManager)))
}

// errBeingDeleted says that nothing can be done for an object at the moment.
var errBeingDeleted = errors.New("somebody has deleted it; it will be created anew when it is gone")

func (p *pass) live(ctx context.Context, i *item) (*unstructured.Unstructured, error) {
	live := &unstructured.Unstructured{}
	live.SetGroupVersionKind(kindOf(&i.ref))
	return live, p.shoot.Client.Get(ctx, i.id.NamespacedName, live)
}

// noVersion is a resourceVersion that no object has, since etcd counts from it. The
// API server refuses, as a conflict, to apply what states it to an object that
// exists, and drops it from one that it creates.
const noVersion = "1"

// create applies an item which seems not to be in the shoot, in one request. That
// never writes over an object which is there all the same, made by others or
// without our label: such an object is read first and then treated as any other.
func (p *pass) create(ctx context.Context, i *item) error {
	if err := p.reportMissing(ctx, i); err != nil {
		return err
	}
	object := i.object.DeepCopy()
	object.SetResourceVersion(noVersion)
	err := p.send(ctx, object)
	if apierrors.IsConflict(err) {
		live, getErr := p.live(ctx, i)
		if getErr == nil {
			return p.correct(ctx, i, live)
		}
		if !apierrors.IsNotFound(getErr) {
			return getErr
		}
		// It has just gone, or this API server takes no version for what is not there.
		live = i.object.DeepCopy()
		if err := p.send(ctx, live); err != nil {
			return err
		}
		return p.update(ctx, i, live)
	}
	if err != nil {
		return err
	}
	p.record.saw(i, object)
	return nil
}

// reportMissing says in the status that an object which had been applied is not
// there any more, before it is made anew.
func (p *pass) reportMissing(ctx context.Context, i *item) error {
	if !p.wasApplied(i) {
		return nil
	}
	p.log.Info("An object is missing in the shoot and is created anew", "object", i.id.String())
	p.missed = true
	p.setHealthy(corev1beta1.ConditionFalse, i.id.Kind+suffixMissing, fmt.Sprintf("%s is missing in the shoot.", i.id))
	return p.writeStatus(ctx)
}

// update makes an existing object what is wanted, and takes from it what others
// may not have set. It writes only what differs.
func (p *pass) update(ctx context.Context, i *item, live *unstructured.Unstructured) error {
	err := retry.RetryOnConflict(retry.DefaultRetry, func() error {
		err := p.tryUpdate(ctx, i, live)
		if apierrors.IsConflict(err) {
			fresh, getErr := p.live(ctx, i)
			if getErr != nil {
				return getErr
			}
			live = fresh
		}
		return err
	})
	return p.recreate(ctx, i, err)
}

func (p *pass) tryUpdate(ctx context.Context, i *item, live *unstructured.Unstructured) error {
	scaled, err := p.isScaled(ctx, i)
	if err != nil {
		return err
	}
	who, err := takeOver(live, toleranceFor(i, p.circumstances(i, live, scaled)))
	if err != nil {
		return err
	}
	if who.moved {
		patch, err := who.patch(live)
		if err != nil {
			return err
		}
		if err := p.shoot.Client.Patch(ctx, live, client.RawPatch(types.MergePatchType, patch), client.FieldOwner(FieldManager)); err != nil {
			return err
		}
	}
	wanted := payload(i, live, who, scaled)
	if last, known := p.record.seen[i.id]; !known || last.hash == i.hash {
		// The content is not new to the object as far as we know: it may be right.
		differs, err := p.differs(ctx, live, wanted)
		if err != nil {
			return err
		}
		if !differs {
			p.record.saw(i, live)
			return nil
		}
		p.log.Info("An object in the shoot differs from what is stated and is corrected", "object", i.id.String())
	}
	if err := p.send(ctx, wanted); err != nil {
		return err
	}
	if who, err = takeOver(wanted, toleranceFor(i, p.circumstances(i, wanted, scaled))); err != nil {
		return err
	}
	if who.moved {
		// Somebody has set more since live was read.
		return apierrors.NewConflict(schema.GroupResource{Group: i.id.Group, Resource: i.id.Kind}, i.id.Name, errMeanwhile)
	}
	p.record.saw(i, wanted)
	return nil
}

// errMeanwhile says that an object was edited while it was being applied.
var errMeanwhile = errors.New("somebody has edited it meanwhile")

// differs says whether applying wanted would change live, by a dry-run.
func (p *pass) differs(ctx context.Context, live, wanted *unstructured.Unstructured) (bool, error) {
	manager := ssa.NewResourceManager(&preloaded{p.shoot.Client, live}, nil, ssa.Owner{Field: FieldManager, Group: "trellis.network"})
	entry, _, _, err := manager.Diff(ctx, wanted.DeepCopy(), ssa.DefaultDiffOptions())
	if err != nil {
		return false, err
	}
	return entry.Action != ssa.UnchangedAction, nil
}

// preloaded is a client which has just read one object.
type preloaded struct {
	client.Client
	object *unstructured.Unstructured
}

// Get implements client.Client.
func (c *preloaded) Get(_ context.Context, _ client.ObjectKey, object client.Object, _ ...client.GetOption) error {
	c.object.DeepCopyInto(object.(*unstructured.Unstructured))
	return nil
}

// send applies an object and replaces it by the answer.
func (p *pass) send(ctx context.Context, object *unstructured.Unstructured) error {
	return p.shoot.Client.Apply(ctx, client.ApplyConfigurationFromUnstructured(object),
		client.ForceOwnership, client.FieldOwner(FieldManager))
}

func (p *pass) circumstances(i *item, live *unstructured.Unstructured, scaled bool) circumstances {
	return circumstances{
		before: p.before[p.same.of(i.id)], labels: live.GetLabels(), annotations: live.GetAnnotations(), scaled: scaled,
		forceLabels:      ptr.Deref(p.mr.Spec.ForceOverwriteLabels, false),
		forceAnnotations: ptr.Deref(p.mr.Spec.ForceOverwriteAnnotations, false),
	}
}

// isScaled says whether a HorizontalPodAutoscaler sets the item's replicas.
func (p *pass) isScaled(ctx context.Context, i *item) (bool, error) {
	if !isScalable(i.id.GroupKind) {
		return false, nil
	}
	list := &autoscalingv2.HorizontalPodAutoscalerList{}
	if err := p.shoot.Client.List(ctx, list, client.InNamespace(i.id.Namespace)); err != nil {
		return false, err
	}
	for _, each := range list.Items {
		target := each.Spec.ScaleTargetRef
		kind := schema.FromAPIVersionAndKind(target.APIVersion, target.Kind).GroupKind()
		if target.Name == i.id.Name && p.same.kind(kind) == p.same.kind(i.id.GroupKind) {
			return true, nil
		}
	}
	return false, nil
}
