// SPDX-License-Identifier: Apache-2.0

package network

import (
	"context"
	"errors"
	"fmt"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	resourcesv1alpha1 "github.com/trellis-network/trellis/api/resources/v1alpha1"
	"github.com/trellis-network/trellis/internal/bundle"
	"github.com/trellis-network/trellis/internal/condition"
	"github.com/trellis-network/trellis/internal/outcome"
)

// keepObjects makes the objects of which the network consists outlive their
// ManagedResources. The objects in the seed go, and so do those that change or refuse
// others in the shoot, since they may point to this seed.
func (w *bundleWriter) keepObjects(ctx context.Context, run *run) outcome.Outcome {
	for _, name := range run.BundleNames() {
		if !run.Bundle(name).KeepOnMigrate {
			continue
		}
		if err := bundle.KeepObjects(ctx, w.client, w.live, run.Network.Namespace, name); err != nil {
			return outcome.TryAgain(fmt.Errorf("keep the objects of the bundle %s in the shoot: %w", name, err))
		}
	}
	return outcome.Continue()
}

// deleteBundles deletes the ManagedResources in descending phases, each phase once the
// ones above it are gone, and waits for the last. If the Shoot is deleted by force it
// deletes them at once, and waits for none (N15).
func (w *bundleWriter) deleteBundles(ctx context.Context, run *run) outcome.Outcome {
	w.bundles.Forget(client.ObjectKeyFromObject(run.Network))
	forced := run.Shoot.Annotations[extensionsv1alpha1.ForceDeletionAnnotation] == "true"
	allGone, above := true, 0
	for _, name := range run.BundleNames() {
		phase := run.Bundle(name).Phase
		if !allGone && !forced && phase < above {
			break
		}
		gone, err := bundle.Delete(ctx, w.client, w.live, run.Network.Namespace, name)
		if err != nil {
			return outcome.TryAgain(fmt.Errorf("delete the network's objects: %w", err), w.codes.of(err)...)
		}
		allGone, above = allGone && gone, phase
	}
	if !allGone && !forced {
		return awaitDeletion(run, w.clock.Now())
	}
	return outcome.Continue()
}

// awaitDeletion waits, through the watch, for ManagedResources that are being deleted, and
// reports after a while what keeps them.
func awaitDeletion(run *run, now time.Time) outcome.Outcome {
	run.generation = run.Network.Generation
	const until = "the resource manager has deleted the network's objects"
	for _, name := range run.BundleNames() {
		mr := run.Managed[name]
		if !isBeingDeleted(mr) {
			continue
		}
		if left := failingFor - now.Sub(mr.DeletionTimestamp.Time); left > 0 {
			return outcome.Wait(until, left)
		}
		applied := condition.Value(mr.Status.Conditions, resourcesv1alpha1.ResourcesApplied)
		reported := errors.New(applied.Message)
		if applied.Status == "" {
			reported = errors.New("no resource manager has begun to delete them")
		}
		cause := fmt.Errorf("the network's objects in the %s are still being deleted: %w", bundle.TargetOf(mr), reported)
		if run.operation == corev1beta1.LastOperationTypeMigrate {
			cause = fmt.Errorf("the ManagedResource %s is still being deleted: %w", name, reported)
		}
		return outcome.Fail(cause, append(applied.Codes, corev1beta1.ErrorCleanupClusterResources)...).Within(failingFor)
	}
	return outcome.Wait(until, failingFor)
}

// cleanUp deletes the Secrets of former bundles once the present ones are applied. In a
// landscape, Gardener's garbage collector does.
func (w *bundleWriter) cleanUp(ctx context.Context, run *run) outcome.Outcome {
	if !w.standalone {
		return outcome.Continue()
	}
	labels := client.MatchingLabels{extensionsv1alpha1.NetworkLabel: extensionsv1alpha1.NetworkLabelValue(run.Network.Name)}
	err := bundle.DeleteSuperseded(ctx, w.client, w.cached, run.Network.Namespace, labels, run.Managed)
	return outcome.TryAgain(err).Unreported()
}
