// SPDX-License-Identifier: Apache-2.0

package network

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/internal/bundle"
	"github.com/trellis-network/trellis/internal/outcome"
)

// answerRequest takes off a request to reconcile, although nothing follows from it (N34).
func (r *Reconciler) answerRequest(ctx context.Context, run *run) outcome.Outcome {
	return outcome.TryAgain(r.answer(ctx, run.network, extensionsv1alpha1.OperationReconcile)).Unreported()
}

// checkFinalizer leaves a Network alone that others keep from going (N14).
func (r *Reconciler) checkFinalizer(_ context.Context, run *run) outcome.Outcome {
	if !controllerutil.ContainsFinalizer(run.network, extensionsv1alpha1.NetworkFinalizer) {
		run.finalized = true
		return outcome.Finish()
	}
	return outcome.Continue()
}

// begin reports that the deletion or the migration began. An error of it stays until it
// has succeeded, since its cause may persist.
func (r *Reconciler) begin(ctx context.Context, run *run) outcome.Outcome {
	last := run.network.Status.LastOperation
	if last != nil && last.Type == run.operation && !succeeded(run.network) {
		return outcome.Continue()
	}
	return outcome.TryAgain(r.reportProcessing(ctx, run)).Unreported()
}

// keepObjects makes the objects of which the network consists outlive their
// ManagedResources. The objects in the seed go, and so do those that change or refuse
// others in the shoot, since they may point to this seed.
func (r *Reconciler) keepObjects(ctx context.Context, run *run) outcome.Outcome {
	for _, name := range run.known().BundleNames() {
		if !run.known().Bundle(name).KeepOnMigrate {
			continue
		}
		if err := bundle.KeepObjects(ctx, r.client, r.live, run.network.Namespace, name); err != nil {
			return outcome.TryAgain(fmt.Errorf("keep the objects of the bundle %s in the shoot: %w", name, err))
		}
	}
	return outcome.Continue()
}

// deleteBundles deletes the ManagedResources in descending phases, each phase once the
// ones above it are gone, and waits for the last. If the Shoot is deleted by force it
// deletes them at once, and waits for none (N15).
func (r *Reconciler) deleteBundles(ctx context.Context, run *run) outcome.Outcome {
	r.bundles.Forget(client.ObjectKeyFromObject(run.network))
	forced := run.shoot.Annotations[extensionsv1alpha1.ForceDeletionAnnotation] == "true"
	allGone, above := true, 0
	for _, name := range run.known().BundleNames() {
		phase := run.known().Bundle(name).Phase
		if !allGone && !forced && phase < above {
			break
		}
		gone, err := bundle.Delete(ctx, r.client, r.live, run.network.Namespace, name)
		if err != nil {
			return outcome.TryAgain(fmt.Errorf("delete the network's objects: %w", err), r.codesOf(err)...)
		}
		allGone, above = allGone && gone, phase
	}
	if !allGone && !forced {
		return r.awaitDeletion(run)
	}
	return outcome.Continue()
}

// reportGone reports the success of a deletion or a migration. It does so before the
// finalizers are removed, since gardenlet may delete the Network as soon as it reads that.
func (r *Reconciler) reportGone(ctx context.Context, run *run) outcome.Outcome {
	return outcome.TryAgain(r.patchStatus(ctx, run, func() { r.setSucceeded(run, run.network.Generation) })).Unreported()
}

// removeFinalizer lets a deleted Network go.
func (r *Reconciler) removeFinalizer(ctx context.Context, run *run) outcome.Outcome {
	before := run.network.DeepCopy()
	controllerutil.RemoveFinalizer(run.network, extensionsv1alpha1.NetworkFinalizer)
	run.finalized = true
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	return outcome.TryAgain(r.client.Patch(ctx, run.network, patch)).Unreported()
}

// removeAllFinalizers lets a migrated Network go, for which the other seed is responsible.
func (r *Reconciler) removeAllFinalizers(ctx context.Context, run *run) outcome.Outcome {
	before := run.network.DeepCopy()
	run.network.Finalizers, run.finalized = nil, true
	return outcome.TryAgain(r.client.Patch(ctx, run.network, client.MergeFrom(before))).Unreported()
}

// answerMigration takes the annotation of the migration off.
func (r *Reconciler) answerMigration(ctx context.Context, run *run) outcome.Outcome {
	return outcome.TryAgain(r.answer(ctx, run.network, extensionsv1alpha1.OperationMigrate)).Unreported()
}
