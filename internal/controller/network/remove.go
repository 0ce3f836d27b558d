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
	resourcesv1alpha1 "github.com/trellis-network/trellis/api/resources/v1alpha1"
	"github.com/trellis-network/trellis/internal/bundle"
	"github.com/trellis-network/trellis/internal/seed"
)

// remove deletes the bundles and, once the resource managers have let go of them,
// lets the Network go. The user's config is not looked at.
func (w *work) remove(ctx context.Context) (ctrl.Result, error) {
	if err := w.leaving(ctx); err != nil {
		return ctrl.Result{}, err
	}
	if gone, result, err := w.withoutBundles(ctx); !gone {
		return result, err
	}
	if err := w.left(ctx); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	before := w.network.DeepCopy()
	controllerutil.RemoveFinalizer(w.network, extensionsv1alpha1.NetworkFinalizer)
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	return ctrl.Result{}, client.IgnoreNotFound(w.client.Patch(ctx, w.network, patch))
}

// withoutBundles deletes the bundles. Until they are gone, it says with what the
// reconciliation ends.
func (w *work) withoutBundles(ctx context.Context) (bool, ctrl.Result, error) {
	gone, err := w.removeBundles(ctx)
	if err != nil {
		return false, ctrl.Result{}, w.failed(ctx, nil, fmt.Errorf("delete the network's objects: %w", err))
	}
	if gone || w.forced() {
		return true, ctrl.Result{}, nil
	}
	result, err := w.awaitGone(ctx)
	return false, result, err
}

// removeBundles deletes one ManagedResource after the other, or, if nothing in the
// shoot is waited for, all of them.
func (w *work) removeBundles(ctx context.Context) (gone bool, err error) {
	definition, known := w.Pipeline.Plugin(w.network.Spec.Type)
	if !known {
		return true, nil
	}
	names := seed.NamesOf(&definition, seed.Removal)
	if !w.forced() {
		return bundle.Delete(ctx, w.client, w.live, w.network.Namespace, names...)
	}
	gone = true
	for _, name := range names {
		one, err := bundle.Delete(ctx, w.client, w.live, w.network.Namespace, name)
		if err != nil {
			return false, err
		}
		gone = gone && one
	}
	return gone, nil
}

// awaitGone waits, through the watch, for the ManagedResources to disappear, and
// says after a while what keeps them.
func (w *work) awaitGone(ctx context.Context) (ctrl.Result, error) {
	for _, g := range seed.Removal {
		mr := w.managed[g]
		if mr == nil || mr.DeletionTimestamp.IsZero() {
			continue
		}
		if left := failingFor - w.Clock.Since(mr.DeletionTimestamp.Time); left > 0 {
			return ctrl.Result{RequeueAfter: left}, nil
		}
		where := "the shoot"
		if g == seed.InSeed {
			where = "the seed"
		}
		cause := fmt.Errorf("the network's objects in %s are still being deleted: %w", where, stuck(mr))
		if w.kind == corev1beta1.LastOperationTypeMigrate {
			cause = fmt.Errorf("the ManagedResource %s is still being deleted: %w", mr.Name, stuck(mr))
		}
		codes := []corev1beta1.ErrorCode{corev1beta1.ErrorCleanupClusterResources}
		if applied := conditionOf(mr, resourcesv1alpha1.ResourcesApplied); applied != nil {
			codes = append(codes, applied.Codes...)
		}
		return ctrl.Result{RequeueAfter: failingFor}, w.error(ctx, w.network.Generation, nil, cause, codes...)
	}
	return ctrl.Result{RequeueAfter: failingFor}, nil
}

// forced says whether the deletion waits for nothing inside the shoot.
func (w *work) forced() bool {
	return w.shoot.Annotations[extensionsv1alpha1.ForceDeletionAnnotation] == "true"
}
