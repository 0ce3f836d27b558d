// SPDX-License-Identifier: Apache-2.0

package shoot

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	resourcesv1alpha1 "github.com/trellis-network/trellis/api/resources/v1alpha1"
	"github.com/trellis-network/trellis/internal/bundle"
	"github.com/trellis-network/trellis/internal/controller/managedresource"
	"github.com/trellis-network/trellis/internal/outcome"
)

// contents are what a control-plane namespace has besides the access to the shoot.
type contents struct{ seed }

// find reads what there is in the control-plane namespace that needs the access
// to the shoot, and the Cluster.
func (c contents) find(ctx context.Context, run *run) outcome.Outcome {
	if run.controlPlane == nil {
		return outcome.Continue()
	}
	var err error
	run.networks, run.managed, err = c.dependents(ctx, run.namespace)
	return fail(err)
}

// dependents reads the Networks first: what a Network's deletion still writes are
// ManagedResources.
func (s seed) dependents(ctx context.Context, namespace string) ([]extensionsv1alpha1.Network, []resourcesv1alpha1.ManagedResource, error) {
	networks, managed := &extensionsv1alpha1.NetworkList{}, &resourcesv1alpha1.ManagedResourceList{}
	for _, list := range []client.ObjectList{networks, managed} {
		if err := s.live.List(ctx, list, client.InNamespace(namespace)); err != nil {
			return nil, nil, err
		}
	}
	return networks.Items, managed.Items, nil
}

// deleteConfirmed deletes an extension object. It confirms the deletion first, as Gardener demands,
// and sets further annotations with that.
func (s seed) deleteConfirmed(ctx context.Context, object client.Object, further map[string]string) error {
	if isDeleting(object) {
		return nil
	}
	annotations := map[string]string{}
	maps.Copy(annotations, object.GetAnnotations())
	annotations[extensionsv1alpha1.ConfirmationAnnotation] = "true"
	maps.Copy(annotations, further)
	if !maps.Equal(annotations, object.GetAnnotations()) {
		before := object.DeepCopyObject().(client.Object)
		object.SetAnnotations(annotations)
		if err := s.Patch(ctx, object, client.MergeFrom(before)); err != nil {
			return client.IgnoreNotFound(err)
		}
	}
	return client.IgnoreNotFound(s.Delete(ctx, object, client.Preconditions{UID: new(object.GetUID())}))
}

func (run *run) hasDependents() bool { return len(run.networks)+len(run.managed) > 0 }

// ifNeeded returns a stage that is skipped when nothing depends on its result.
func ifNeeded(then func(context.Context, *run) outcome.Outcome) func(context.Context, *run) outcome.Outcome {
	return func(ctx context.Context, run *run) outcome.Outcome {
		if !run.hasDependents() {
			return outcome.Continue()
		}
		return then(ctx, run)
	}
}

// deleteManagedResources deletes the prerequisites and all other ManagedResources, and
// waits until they are gone: without access to the shoot they could not be deleted, and
// would keep the namespace. A forced deletion does not wait for what is in the shoot.
func (c contents) deleteManagedResources(ctx context.Context, run *run) outcome.Outcome {
	var names []string
	for i := range run.managed {
		mr := &run.managed[i]
		names = append(names, mr.Name)
		if !isDeleting(mr) {
			if err := client.IgnoreNotFound(c.Delete(ctx, mr, client.Preconditions{UID: &mr.UID})); err != nil {
				return fail(err)
			}
		}
		forced := run.shoot.Annotations[extensionsv1alpha1.ForceDeletionAnnotation] == "true"
		if !forced || !isForShoot(mr) || len(mr.Finalizers) == 0 {
			continue
		}
		before := mr.DeepCopy()
		mr.Finalizers = nil
		if err := client.IgnoreNotFound(c.Patch(ctx, mr, client.MergeFrom(before))); err != nil {
			return fail(err)
		}
	}
	if len(names) == 0 {
		return outcome.Continue()
	}
	return outcome.Wait(fmt.Sprintf("these ManagedResources in %s are gone: %s%s",
		run.namespace, strings.Join(names, ", "), c.applyFailure(ctx, run.namespace)), 0)
}

// applyFailure returns why the resource manager cannot apply a ManagedResource of the
// control plane in the shoot, to be appended to a description; empty if it can, or if the
// ManagedResources cannot be read.
func (s seed) applyFailure(ctx context.Context, namespace string) string {
	list := &resourcesv1alpha1.ManagedResourceList{}
	if err := s.List(ctx, list, client.InNamespace(namespace)); err != nil {
		return ""
	}
	slices.SortFunc(list.Items, func(a, b resourcesv1alpha1.ManagedResource) int { return cmp.Compare(a.Name, b.Name) })
	for i := range list.Items {
		mr := &list.Items[i]
		if applied := bundle.AppliedCondition(mr); isForShoot(mr) && applied.Status == corev1beta1.ConditionFalse && applied.Message != "" {
			return ": the ManagedResource " + mr.Name + ": " + applied.Message
		}
	}
	return ""
}

// isForShoot reports whether the objects of a ManagedResource are in the shoot.
func isForShoot(mr *resourcesv1alpha1.ManagedResource) bool {
	return managedresource.ClassOf(mr) == ""
}
