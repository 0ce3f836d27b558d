// SPDX-License-Identifier: Apache-2.0

package network

import (
	"context"
	"fmt"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/internal/bundle"
)

// remove deletes the bundle and, once the resource manager has let go of it,
// lets the Network go. The user's config is not looked at.
func (w *work) remove(ctx context.Context) (ctrl.Result, error) {
	if err := w.deleting(ctx); err != nil {
		return ctrl.Result{}, err
	}
	if definition, known := w.Pipeline.Plugin(w.network.Spec.Type); known {
		gone, err := bundle.Delete(ctx, w.client, w.network.Namespace, definition.ManagedResource)
		if err != nil {
			return ctrl.Result{}, w.failed(ctx, fmt.Errorf("delete the network's objects: %w", err))
		}
		if !gone && !w.forced() {
			return w.awaitGone(ctx)
		}
	}
	if err := w.deleted(ctx); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	before := w.network.DeepCopy()
	controllerutil.RemoveFinalizer(w.network, extensionsv1alpha1.NetworkFinalizer)
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	return ctrl.Result{}, client.IgnoreNotFound(w.client.Patch(ctx, w.network, patch))
}

// awaitGone waits, through the watch, for the ManagedResource to disappear, and
// says after a while what keeps it.
func (w *work) awaitGone(ctx context.Context) (ctrl.Result, error) {
	if w.mr == nil || w.mr.DeletionTimestamp.IsZero() {
		return ctrl.Result{RequeueAfter: failingFor}, nil
	}
	if left := failingFor - w.Clock.Since(w.mr.DeletionTimestamp.Time); left > 0 {
		return ctrl.Result{RequeueAfter: left}, nil
	}
	cause := fmt.Errorf("the network's objects in the shoot are still being deleted: %w", stuck(w.mr))
	return ctrl.Result{RequeueAfter: failingFor}, w.error(ctx, w.network.Generation, nil, cause, corev1beta1.ErrorCleanupClusterResources)
}

// forced says whether the deletion waits for nothing inside the shoot.
func (w *work) forced() bool {
	return w.shoot.Annotations[extensionsv1alpha1.ForceDeletionAnnotation] == "true"
}
