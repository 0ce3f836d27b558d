// SPDX-License-Identifier: Apache-2.0

package shoot

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	resourcesv1alpha1 "github.com/trellis-network/trellis/api/resources/v1alpha1"
	"github.com/trellis-network/trellis/pipeline"
)

// releaseAccess lets an access go that is being deleted, once nothing in the
// namespace needs it: no Network and no ManagedResource. It reads from the API
// server, since what a cache has not seen yet would be cut off for good.
func (r *reconciler) releaseAccess(ctx context.Context, namespace string) (needed bool, err error) {
	for _, list := range []client.ObjectList{&extensionsv1alpha1.NetworkList{}, &resourcesv1alpha1.ManagedResourceList{}} {
		if err := r.live.List(ctx, list, client.InNamespace(namespace)); err != nil {
			return false, err
		}
		if meta.LenList(list) > 0 {
			return true, nil
		}
	}
	secret := partialMetadata("Secret")
	err = r.live.Get(ctx, client.ObjectKey{Namespace: namespace, Name: accessSecret}, secret)
	if err != nil || !isDeleting(secret) {
		return false, client.IgnoreNotFound(err)
	}
	before := secret.DeepCopy()
	if !controllerutil.RemoveFinalizer(secret, accessFinalizer) {
		return false, nil
	}
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	if err := client.IgnoreNotFound(r.client.Patch(ctx, secret, patch)); err != nil {
		return false, fmt.Errorf("release the Secret %s/%s: %w", namespace, accessSecret, err)
	}
	return false, nil
}

// deleteAccess deletes the access, when nothing needs it any more.
func (op *operation) deleteAccess(ctx context.Context) error {
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: op.namespace, Name: accessSecret}}
	if err := client.IgnoreNotFound(op.client.Delete(ctx, secret)); err != nil {
		return err
	}
	needed, err := op.releaseAccess(ctx, op.namespace)
	if err == nil && needed {
		return waiting{fmt.Sprintf("nothing in %s needs access to the shoot any more", op.namespace)}
	}
	return err
}

// awaitNamespaceGone is what there is to do for a namespace that somebody has
// deleted while its Shoot is to stay. All that is in it is being deleted, too, and
// is taken from the shoot; what that needs is kept and kept up to date.
func (op *operation) awaitNamespaceGone(ctx context.Context) error {
	needed, err := op.releaseAccess(ctx, op.namespace)
	if err != nil {
		return err
	}
	if needed {
		if err := op.keepDeletable(ctx); err != nil {
			return err
		}
	}
	namespace := &corev1.Namespace{}
	if err := op.live.Get(ctx, client.ObjectKey{Name: op.namespace}, namespace); client.IgnoreNotFound(err) != nil {
		return err
	}
	return waiting{fmt.Sprintf("the namespace %s, which is being deleted, is gone%s%s",
		op.namespace, whatRemains(namespace), op.obstacle(ctx))}
}

// abandoned lets the access go in the namespace of a Shoot that is not there any
// more though nobody waited for us: somebody took the finalizer from it.
func (r *reconciler) abandoned(ctx context.Context, shoot types.NamespacedName) error {
	controlPlane := pipeline.ControlPlaneNamespace(&corev1beta1.Shoot{
		ObjectMeta: metav1.ObjectMeta{Namespace: shoot.Namespace, Name: shoot.Name},
	})
	if owner, known := r.ownerOf(ctx, controlPlane); !known || owner != shoot {
		return nil
	}
	secret := partialMetadata("Secret")
	err := r.secrets.Get(ctx, client.ObjectKey{Namespace: controlPlane, Name: accessSecret}, secret)
	if err != nil || !isDeleting(secret) {
		return client.IgnoreNotFound(err)
	}
	_, err = r.releaseAccess(ctx, controlPlane)
	return err
}

// ownerOf is the Shoot that a control-plane namespace says it belongs to.
func (r *reconciler) ownerOf(ctx context.Context, controlPlane string) (owner types.NamespacedName, known bool) {
	namespace := partialMetadata("Namespace")
	if err := r.client.Get(ctx, client.ObjectKey{Name: controlPlane}, namespace); err != nil {
		return owner, false
	}
	owner.Namespace, owner.Name, known = strings.Cut(namespace.Annotations[ShootAnnotation], "/")
	return owner, known
}
