// SPDX-License-Identifier: Apache-2.0

package managedresource

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/trellis-network/trellis/internal/keyed"
	"github.com/trellis-network/trellis/internal/shootclient"
)

// applier applies the objects of one ManagedResource in its shoot.
type applier struct {
	shoot    *shootclient.Shoot
	owners   *owners
	clock    clock.PassiveClock
	observed *observations
	// items in the order in which they are applied.
	items []*item
	// before is the inventory that the run began with, and wasApplied reports whether all
	// its objects were in the shoot.
	before     map[identity]*reference
	wasApplied bool
	// lost are the objects that were applied before and were gone, and missing is the one of
	// them that could not be applied.
	lost    keyed.Map[identity, bool]
	missing *identity
}

// attempt is what became of one item.
type attempt struct {
	err error
	// lost reports that the object was gone, and restored that it is a CRD and back.
	lost, restored bool
}

// isFailure reports whether the items of later kinds must wait. They need not for a dispute.
func (a *attempt) isFailure() bool { return a.err != nil && !errors.As(a.err, new(*disputed)) }

// apply brings all items into the shoot in their order, those of a kind at once. It stops after
// a kind of which one fails, and returns the error of the first one. A disputed one is not
// corrected now, and fails only at the end.
func (a *applier) apply(ctx context.Context) error {
	if err := a.watch(ctx); err != nil {
		return err
	}
	var dispute error
	for first := 0; first < len(a.items); {
		last := first + 1
		for last < len(a.items) && a.items[last].id.Kind == a.items[first].id.Kind {
			last++
		}
		applied := make([]attempt, last-first)
		atOnce(a.items[first:last], func(i int, each *item) bool {
			applied[i] = a.try(ctx, each)
			return !applied[i].isFailure()
		})
		var failure error
		for i, each := range a.items[first:last] {
			tried := &applied[i]
			if tried.restored {
				a.observed.restored = append(a.observed.restored, each.id)
			}
			switch {
			case !tried.isFailure():
				dispute = cmp.Or(dispute, tried.err)
			case failure == nil && tried.lost:
				failure, a.missing = tried.err, &each.id
			case failure == nil:
				failure = tried.err
			}
		}
		if failure != nil {
			return failure
		}
		first = last
	}
	return dispute
}

// try applies one item.
func (a *applier) try(ctx context.Context, i *item) (tried attempt) {
	before := a.observed.uidOf(i.id)
	err := a.awaitKind(ctx, i)
	if err == nil {
		err = a.shoot.Failure(a.ensure(ctx, i))
	}
	now := a.observed.uidOf(i.id)
	tried.lost, _ = a.lost.Get(i.id)
	tried.restored = isCRD(i.id.GroupKind) && now != before && (before != "" || tried.lost)
	if err == nil {
		return tried
	}
	// The API server's own words, without what libraries put around them.
	var status apierrors.APIStatus
	if errors.As(err, &status) && !errors.As(err, new(*recreating)) && !isAboutAccess(err) {
		err = status.(error)
	}
	ref := i.ref
	tried.err = fmt.Errorf(`error during apply of object "%s/%s/%s/%s": %w`, ref.APIVersion, ref.Kind, ref.Namespace, ref.Name, err)
	return tried
}

// watch begins to watch all kinds at once. Kinds that a CRD among the items defines must
// wait for it: even if the shoot had them once, the CRD may have been deleted.
func (a *applier) watch(ctx context.Context) error {
	var served []schema.GroupVersionKind
	for _, kind := range kindsOf(a.items) {
		if a.definition(kind.GroupKind()) != nil {
			continue
		}
		if _, err := a.shoot.Client.RESTMapper().RESTMapping(kind.GroupKind(), kind.Version); err == nil {
			served = append(served, kind)
		} else if !meta.IsNoMatchError(err) {
			return a.shoot.Failure(err)
		}
	}
	return a.shoot.Watch(ctx, served...)
}

// awaitKind waits until the shoot serves an item's kind, if a CRD among the items
// defines it (R27). Namespaces need no such wait: they accept objects at once.
func (a *applier) awaitKind(ctx context.Context, i *item) error {
	kind := kindOf(&i.ref)
	crd := a.definition(kind.GroupKind())
	served := func(ctx context.Context) (bool, error) {
		if crd != nil && !a.isEstablished(ctx, crd) {
			return false, nil
		}
		_, err := a.shoot.Client.RESTMapper().RESTMapping(kind.GroupKind(), kind.Version)
		return err == nil, a.shoot.Failure(ignoreNoMatch(err))
	}
	if ok, err := served(ctx); ok || err != nil {
		return err
	}
	if crd != nil {
		within, cancel := context.WithTimeout(ctx, establishTimeout)
		defer cancel()
		if err := establishBackoff.DelayFunc().Until(within, false, true, served); !wait.Interrupted(err) {
			return err
		}
	}
	return fmt.Errorf("the shoot does not know the kind %s of %s", kind.Kind, kind.GroupVersion())
}

// definition returns the CRD among the items that defines a kind, or nil.
func (a *applier) definition(kind schema.GroupKind) *item {
	for _, each := range a.items {
		if isCRD(each.id.GroupKind) && definedBy(each.object) == kind {
			return each
		}
	}
	return nil
}

// isEstablished reports whether the cache shows that a CRD which was applied is served.
// Not all of its names need be accepted.
func (a *applier) isEstablished(ctx context.Context, crd *item) bool {
	cached, err := a.shoot.Cached(ctx, kindOf(&crd.ref), crd.id.NamespacedName)
	if err != nil || cached.GetUID() != a.observed.uidOf(crd.id) || cached.GetDeletionTimestamp() != nil {
		return false
	}
	served, ok := cached.(*apiextensionsv1.CustomResourceDefinition)
	return ok && apihelpers.IsCRDConditionTrue(served, apiextensionsv1.Established)
}

// ensure makes sure that one item is in the shoot as desired. It sends no request if the
// cache shows the item as it was last observed, unless a user has asked for all to be read.
func (a *applier) ensure(ctx context.Context, i *item) error {
	if err := a.observed.dispute(i.id, a.clock.Now()); err != nil {
		return err
	}
	kind := kindOf(&i.ref)
	_, observed := a.observed.objects.Get(i.id)
	if !observed && !a.isExpected(i) && !a.shoot.HasAll(kind) {
		// The kind is as new as its CRD, and its first list may fail.
		return a.create(ctx, i)
	}
	cached, err := a.shoot.Cached(ctx, kind, i.id.NamespacedName)
	switch {
	case err == nil && !a.observed.verify && a.observed.isUnchanged(i, cached):
		return nil
	case apierrors.IsNotFound(err) && !observed && !a.isExpected(i):
		// Most likely the shoot does not have it, or it lacks the label that the cache
		// selects by.
		return a.create(ctx, i)
	case err != nil && !apierrors.IsNotFound(err):
		return err
	}
	live, err := a.live(ctx, i)
	if apierrors.IsNotFound(err) {
		return a.create(ctx, i)
	}
	if err != nil {
		return err
	}
	return a.correct(ctx, i, live)
}

// isExpected reports whether, according to the status, the item is in the shoot.
func (a *applier) isExpected(i *item) bool { return a.wasApplied && a.before[i.id] != nil }

// correct corrects an object that was read from the API server.
func (a *applier) correct(ctx context.Context, i *item, live *unstructured.Unstructured) error {
	switch {
	case live.GetDeletionTimestamp() != nil:
		return errBeingDeleted
	case a.observed.isUnchanged(i, live) && a.isOurs(i, live):
		a.observed.observe(i, live)
		return nil
	}
	if err := a.owners.conflict(ctx, i.id, live, a.before[i.id] == nil); err != nil {
		return err
	}
	return a.update(ctx, i, live)
}

// isOurs reports whether no other client has taken a field of an object that a user asks to be
// compared, whose content is as it was. A client can become the owner of a field without changing it, which
// the next change of what is desired would leave as it is.
func (a *applier) isOurs(i *item, live *unstructured.Unstructured) bool {
	if last, _ := a.observed.objects.Get(i.id); !a.observed.verify || last.version == live.GetResourceVersion() {
		return true
	}
	owners, err := takeOwnership(live, exceptionsFor(i, a.before[i.id], live))
	return err == nil && !owners.moved
}

// patchMetadata applies a merge patch, formatted with args, to the metadata of an object.
// It is no error if the object is gone.
func patchMetadata(ctx context.Context, shoot *shootclient.Shoot, object client.Object, format string, args ...any) error {
	patch := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"metadata":`+format+`}`, args...))
	return client.IgnoreNotFound(shoot.Client.Patch(ctx, object, patch, client.FieldOwner(FieldManager)))
}

func (a *applier) live(ctx context.Context, i *item) (*unstructured.Unstructured, error) {
	live := &unstructured.Unstructured{}
	live.SetGroupVersionKind(kindOf(&i.ref))
	return live, a.shoot.Client.Get(ctx, i.id.NamespacedName, live)
}

// noVersion is a resourceVersion that no object has, since etcd counts from it. The API
// server answers with a conflict if an object exists that is applied with it, and drops
// it from one that it creates.
const noVersion = "1"

// create applies an item that the shoot seems not to have, in one request. It never
// overwrites an object that exists without our label: that is read first, and then
// corrected like any other.
func (a *applier) create(ctx context.Context, i *item) error {
	_, observed := a.observed.objects.Get(i.id)
	lost := observed || a.isExpected(i)
	if lost {
		log.FromContext(ctx).Info("An object is missing in the shoot and is created again", "object", i.id.String())
		a.lost.Set(i.id, true)
	}
	object := i.object.DeepCopy()
	object.SetResourceVersion(noVersion)
	err := a.send(ctx, object)
	if apierrors.IsConflict(err) {
		live, err := a.live(ctx, i)
		if err == nil {
			return a.correct(ctx, i, live)
		}
		if !apierrors.IsNotFound(err) {
			return err
		}
		// It is gone now, or this API server accepts no version for a new object.
		live = i.object.DeepCopy()
		if err := a.send(ctx, live); err != nil {
			return err
		}
		return a.update(ctx, i, live)
	}
	if err != nil {
		return err
	}
	a.observed.observe(i, object)
	if lost {
		return a.observed.correct(i.id, "another client", a.clock.Now())
	}
	return nil
}

// send applies an object and replaces it by the answer.
func (a *applier) send(ctx context.Context, object *unstructured.Unstructured, options ...client.ApplyOption) error {
	return a.shoot.Client.Apply(ctx, client.ApplyConfigurationFromUnstructured(object),
		append(options, client.ForceOwnership, client.FieldOwner(FieldManager))...)
}
