// SPDX-License-Identifier: Apache-2.0

package shoot

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	resourcesv1alpha1 "github.com/trellis-network/trellis/api/resources/v1alpha1"
	"github.com/trellis-network/trellis/internal/outcome"
)

// findDependents reads what there is in the control-plane namespace that needs the access
// to the shoot, and the Cluster.
func (r *Reconciler) findDependents(ctx context.Context, run *run) outcome.Outcome {
	if run.controlPlane == nil {
		return outcome.Continue()
	}
	var err error
	run.networks, run.managed, err = r.dependents(ctx, run.namespace)
	return fail(err)
}

// dependents reads the Networks first: what a Network's deletion still writes are
// ManagedResources.
func (r *Reconciler) dependents(ctx context.Context, namespace string) ([]extensionsv1alpha1.Network, []resourcesv1alpha1.ManagedResource, error) {
	networks, managed := &extensionsv1alpha1.NetworkList{}, &resourcesv1alpha1.ManagedResourceList{}
	for _, list := range []client.ObjectList{networks, managed} {
		if err := r.live.List(ctx, list, client.InNamespace(namespace)); err != nil {
			return nil, nil, err
		}
	}
	return networks.Items, managed.Items, nil
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

// deleteNetworks deletes the Networks in the control-plane namespace, and waits until they
// are gone.
func (r *Reconciler) deleteNetworks(ctx context.Context, run *run) outcome.Outcome {
	if len(run.networks) == 0 {
		return outcome.Continue()
	}
	for i := range run.networks {
		if err := r.deleteNetwork(ctx, &run.networks[i]); err != nil {
			return fail(err)
		}
	}
	network := &run.networks[0]
	last := network.Status.LastOperation
	if last != nil && last.Type == corev1beta1.LastOperationTypeDelete && last.State == corev1beta1.LastOperationStateError {
		return networkFailure(network)
	}
	return outcome.Wait(fmt.Sprintf("the Network %s is gone%s", client.ObjectKeyFromObject(network), r.applyFailure(ctx, run.namespace)), 0)
}

// deleteNetwork confirms the deletion first, as Gardener demands.
func (r *Reconciler) deleteNetwork(ctx context.Context, network *extensionsv1alpha1.Network) error {
	if isDeleting(network) {
		return nil
	}
	if network.Annotations[extensionsv1alpha1.ConfirmationAnnotation] != "true" {
		before := network.DeepCopy()
		metav1.SetMetaDataAnnotation(&network.ObjectMeta, extensionsv1alpha1.ConfirmationAnnotation, "true")
		if err := r.client.Patch(ctx, network, client.MergeFrom(before)); err != nil {
			return client.IgnoreNotFound(err)
		}
	}
	return client.IgnoreNotFound(r.client.Delete(ctx, network, client.Preconditions{UID: &network.UID}))
}

// deleteManagedResources deletes the prerequisites and all other ManagedResources, and
// waits until they are gone: without access to the shoot they could not be deleted, and
// would keep the namespace. A forced deletion does not wait for what is in the shoot.
func (r *Reconciler) deleteManagedResources(ctx context.Context, run *run) outcome.Outcome {
	var names []string
	for i := range run.managed {
		mr := &run.managed[i]
		names = append(names, mr.Name)
		if !isDeleting(mr) {
			if err := client.IgnoreNotFound(r.client.Delete(ctx, mr, client.Preconditions{UID: &mr.UID})); err != nil {
				return fail(err)
			}
		}
		forced := run.shoot.Annotations[extensionsv1alpha1.ForceDeletionAnnotation] == "true"
		if !forced || !isForShoot(mr) || len(mr.Finalizers) == 0 {
			continue
		}
		before := mr.DeepCopy()
		mr.Finalizers = nil
		if err := client.IgnoreNotFound(r.client.Patch(ctx, mr, client.MergeFrom(before))); err != nil {
			return fail(err)
		}
	}
	if len(names) == 0 {
		return outcome.Continue()
	}
	return outcome.Wait(fmt.Sprintf("these ManagedResources in %s are gone: %s%s",
		run.namespace, strings.Join(names, ", "), r.applyFailure(ctx, run.namespace)), 0)
}

// deleteControlPlane deletes the Cluster and the namespace, and waits until the namespace
// is gone.
func (r *Reconciler) deleteControlPlane(ctx context.Context, run *run) outcome.Outcome {
	namespace := &corev1.Namespace{}
	err := r.live.Get(ctx, client.ObjectKey{Name: run.namespace}, namespace)
	if client.IgnoreNotFound(err) != nil {
		return fail(err)
	}
	exists := err == nil
	if exists && namespace.Annotations[ShootAnnotation] != run.owner() {
		return outcome.Continue() // another Shoot's by now
	}
	cluster := &extensionsv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: run.namespace}}
	if err := client.IgnoreNotFound(r.client.Delete(ctx, cluster)); err != nil || !exists {
		return fail(err)
	}
	if !isDeleting(namespace) {
		if err := client.IgnoreNotFound(r.client.Delete(ctx, namespace, client.Preconditions{UID: &namespace.UID})); err != nil {
			return fail(err)
		}
	}
	return outcome.Wait(fmt.Sprintf("the namespace %s is gone%s", run.namespace, remainingContent(namespace)), 0)
}

// removeFinalizer removes the finalizer from the Shoot.
func (r *Reconciler) removeFinalizer(ctx context.Context, run *run) outcome.Outcome {
	r.access.copied.Delete(run.namespace)
	controllerutil.RemoveFinalizer(run.shoot, finalizer)
	patch := client.MergeFromWithOptions(run.stored, client.MergeFromWithOptimisticLock{})
	if err := r.client.Patch(ctx, run.shoot, patch); apierrors.IsNotFound(err) {
		return outcome.StartOver(0) // the run before removed it, and the cache is late
	} else if err != nil {
		return fail(fmt.Errorf("remove the finalizer: %w", err))
	}
	run.released = true
	return outcome.Finish()
}
