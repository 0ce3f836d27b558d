// SPDX-License-Identifier: Apache-2.0

package shoot

import (
	"context"
	"errors"
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
)

// The steps of a deletion read from the API server: a cache that is late would
// take for gone what was only just made, and what is deleted too early (the
// access, the Cluster) could never be deleted properly again.

// owned says whether the control-plane namespace is this Shoot's, or nobody's
// because it is not there.
func (op *operation) owned(ctx context.Context) (bool, error) {
	namespace := partialMetadata("Namespace")
	err := op.live.Get(ctx, client.ObjectKey{Name: op.namespace}, namespace)
	if apierrors.IsNotFound(err) {
		return true, nil
	}
	return err == nil && namespace.Annotations[ShootAnnotation] == op.owner(), err
}

// deleteNetworks deletes what is in the namespace of Networks, and waits until
// they are gone. Until then what their deletion needs is kept up to date.
func (op *operation) deleteNetworks(ctx context.Context) error {
	if owned, err := op.owned(ctx); err != nil || !owned {
		return err
	}
	networks := &extensionsv1alpha1.NetworkList{}
	if err := op.live.List(ctx, networks, client.InNamespace(op.namespace)); err != nil || len(networks.Items) == 0 {
		return err
	}
	if err := op.keepDeletable(ctx); err != nil {
		return err
	}
	for i := range networks.Items {
		if err := op.deleteNetwork(ctx, &networks.Items[i]); err != nil {
			return err
		}
	}
	network := &networks.Items[0]
	last := network.Status.LastOperation
	if last != nil && last.Type == corev1beta1.LastOperationTypeDelete && last.State == corev1beta1.LastOperationStateError {
		return networkProblem(network)
	}
	return waiting{fmt.Sprintf("the Network %s is gone%s", client.ObjectKeyFromObject(network), op.obstacle(ctx))}
}

// keepDeletable keeps up to date what Networks and ManagedResources need to be
// deleted: it carries on a new kubeconfig, and an order for forced deletion. Where
// the user has deleted the kubeconfig already, the last one known has to do.
func (op *operation) keepDeletable(ctx context.Context) error {
	var p problem
	err := op.takeOverAccess(ctx)
	if err != nil && !errors.As(err, &p) && !apierrors.IsNotFound(err) &&
		!apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
		return err
	}
	return op.deployCluster(ctx)
}

// deleteNetwork confirms the deletion first, as Gardener demands.
func (op *operation) deleteNetwork(ctx context.Context, network *extensionsv1alpha1.Network) error {
	if isDeleting(network) {
		return nil
	}
	if network.Annotations[extensionsv1alpha1.ConfirmationAnnotation] != "true" {
		before := network.DeepCopy()
		metav1.SetMetaDataAnnotation(&network.ObjectMeta, extensionsv1alpha1.ConfirmationAnnotation, "true")
		if err := op.client.Patch(ctx, network, client.MergeFrom(before)); err != nil {
			return client.IgnoreNotFound(err)
		}
	}
	return client.IgnoreNotFound(op.client.Delete(ctx, network, client.Preconditions{UID: &network.UID}))
}

// deleteManagedResources deletes the prerequisites, and whatever else would keep
// the namespace from going once the access to the shoot has gone. A forced
// deletion waits for nothing in the shoot.
func (op *operation) deleteManagedResources(ctx context.Context) error {
	if owned, err := op.owned(ctx); err != nil || !owned {
		return err
	}
	list := &resourcesv1alpha1.ManagedResourceList{}
	if err := op.live.List(ctx, list, client.InNamespace(op.namespace)); err != nil {
		return err
	}
	var names []string
	for i := range list.Items {
		managed := &list.Items[i]
		names = append(names, managed.Name)
		if !isDeleting(managed) {
			if err := client.IgnoreNotFound(op.client.Delete(ctx, managed, client.Preconditions{UID: &managed.UID})); err != nil {
				return err
			}
		}
		if err := op.letGo(ctx, managed); err != nil {
			return err
		}
	}
	if len(names) == 0 {
		return nil
	}
	return waiting{fmt.Sprintf("these ManagedResources in %s are gone: %s%s", op.namespace, strings.Join(names, ", "), op.obstacle(ctx))}
}

// letGo takes the finalizers from a ManagedResource for the shoot if the Shoot's
// deletion is forced.
func (op *operation) letGo(ctx context.Context, managed *resourcesv1alpha1.ManagedResource) error {
	forced := op.shoot.Annotations[extensionsv1alpha1.ForceDeletionAnnotation] == "true"
	if !forced || !isForShoot(managed) || len(managed.Finalizers) == 0 {
		return nil
	}
	before := managed.DeepCopy()
	managed.Finalizers = nil
	return client.IgnoreNotFound(op.client.Patch(ctx, managed, client.MergeFrom(before)))
}

// deleteControlPlane deletes the access, the Cluster and the namespace, and waits
// until the namespace is gone.
func (op *operation) deleteControlPlane(ctx context.Context) error {
	if owned, err := op.owned(ctx); err != nil || !owned {
		return err
	}
	namespace := &corev1.Namespace{}
	err := op.live.Get(ctx, client.ObjectKey{Name: op.namespace}, namespace)
	if client.IgnoreNotFound(err) != nil {
		return err
	}
	gone := apierrors.IsNotFound(err)
	if !gone {
		if err := op.deleteAccess(ctx); err != nil {
			return err
		}
	}
	cluster := &extensionsv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: op.namespace}}
	if err := client.IgnoreNotFound(op.client.Delete(ctx, cluster)); err != nil || gone {
		return err
	}
	if !isDeleting(namespace) {
		if err := client.IgnoreNotFound(op.client.Delete(ctx, namespace, client.Preconditions{UID: &namespace.UID})); err != nil {
			return err
		}
	}
	return waiting{fmt.Sprintf("the namespace %s is gone%s", op.namespace, whatRemains(namespace))}
}

// whatRemains is the namespace controller's own word on what it waits for.
func whatRemains(namespace *corev1.Namespace) string {
	var remains []string
	for _, condition := range namespace.Status.Conditions {
		if condition.Status == corev1.ConditionTrue && condition.Message != "" {
			remains = append(remains, condition.Message)
		}
	}
	if len(remains) == 0 {
		return ""
	}
	return ": " + strings.Join(remains, "; ")
}

// release takes the finalizer from the Shoot.
func (op *operation) release(ctx context.Context) error {
	op.access.forget(op.namespace)
	controllerutil.RemoveFinalizer(op.shoot, finalizer)
	patch := client.MergeFromWithOptions(op.stored, client.MergeFromWithOptimisticLock{})
	if err := client.IgnoreNotFound(op.client.Patch(ctx, op.shoot, patch)); err != nil {
		return fmt.Errorf("remove the finalizer: %w", err)
	}
	op.released = true
	return nil
}
