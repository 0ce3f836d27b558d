// SPDX-License-Identifier: Apache-2.0

package managedresource

import (
	"context"
	"strings"

	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	resourcesv1alpha1 "github.com/trellis-network/trellis/api/resources/v1alpha1"
)

// ClassOf returns the class of a ManagedResource; the default class is the empty
// one, by whichever name it is stated.
func ClassOf(mr *resourcesv1alpha1.ManagedResource) string {
	return settledClass(ptr.Deref(mr.Spec.Class, ""))
}

func settledClass(class string) string {
	if class == DefaultClass {
		return ""
	}
	return class
}

func (p *pass) isOurs() bool { return ClassOf(p.mr) == p.options.Class }

func (p *pass) isHeld() bool {
	return controllerutil.ContainsFinalizer(p.mr, p.options.finalizer())
}

// isIgnored says whether the ManagedResource is to be left alone, whatever it
// states, its class included. Its deletion is carried out all the same.
func (p *pass) isIgnored() bool {
	return p.mr.DeletionTimestamp.IsZero() && truthy(p.mr.Annotations[resourcesv1alpha1.Ignore])
}

// isDeleted says whether the ManagedResource is being deleted and waits for us.
func (p *pass) isDeleted() bool { return !p.mr.DeletionTimestamp.IsZero() && p.isHeld() }

// isTransferred says whether the ManagedResource was ours and now is of another
// class, so that its objects have to leave our target.
func (p *pass) isTransferred() bool { return !p.isOurs() && p.isHeld() }

// isHeldByOther says whether the objects are not ours to apply: because a
// resource manager of another class still has to delete its own, or because
// there is nothing left but to wait for others' finalizers.
func (p *pass) isHeldByOther() bool {
	if !p.mr.DeletionTimestamp.IsZero() {
		return true
	}
	for _, finalizer := range p.mr.Finalizers {
		if strings.HasPrefix(finalizer, Finalizer) && finalizer != p.options.finalizer() {
			return true
		}
	}
	return false
}

// adopt adds our finalizer and takes off the annotation that asks for an
// operation, if need be.
func (p *pass) adopt(ctx context.Context) error {
	before := p.mr.DeepCopy()
	changed := controllerutil.AddFinalizer(p.mr, p.options.finalizer())
	if p.mr.Annotations[extensionsv1alpha1.OperationAnnotation] == string(extensionsv1alpha1.OperationReconcile) {
		delete(p.mr.Annotations, extensionsv1alpha1.OperationAnnotation)
		// Who asks does not trust what we remember.
		p.record.inputs, p.record.seen = "", map[identity]sighting{}
		changed = true
	}
	if !changed {
		return nil
	}
	return p.patch(ctx, before)
}

// letGo removes our finalizer.
func (p *pass) letGo(ctx context.Context) error {
	before := p.mr.DeepCopy()
	before.Status = p.written.Status
	p.mr.Status = p.written.Status
	controllerutil.RemoveFinalizer(p.mr, p.options.finalizer())
	p.released = true
	p.memory.forget(client.ObjectKeyFromObject(p.mr))
	return client.IgnoreNotFound(p.patch(ctx, before))
}

// patch writes metadata. Finalizers are a list, which a merge patch replaces, so
// it must not be based on an old one.
func (p *pass) patch(ctx context.Context, before client.Object) error {
	if err := p.client.Patch(ctx, p.mr, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
		return err
	}
	p.written = p.mr.DeepCopy()
	return nil
}
