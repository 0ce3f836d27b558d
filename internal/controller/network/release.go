// SPDX-License-Identifier: Apache-2.0

package network

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/internal/outcome"
)

// reportGone reports the success of a deletion or a migration. It does so before the
// finalizers are removed, since gardenlet may delete the Network as soon as it reads that.
func (c claims) reportGone(ctx context.Context, run *run) outcome.Outcome {
	return outcome.TryAgain(c.status.patch(ctx, run, func() { run.setSucceeded(c.status.clock.Now(), run.Network.Generation) })).Unreported()
}

// removeFinalizer lets a deleted Network go.
func (c claims) removeFinalizer(ctx context.Context, run *run) outcome.Outcome {
	before := run.Network.DeepCopy()
	controllerutil.RemoveFinalizer(run.Network, extensionsv1alpha1.NetworkFinalizer)
	run.finalized = true
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	return outcome.TryAgain(c.client.Patch(ctx, run.Network, patch)).Unreported()
}

// removeAllFinalizers lets a migrated Network go, for which the other seed is responsible.
func (c claims) removeAllFinalizers(ctx context.Context, run *run) outcome.Outcome {
	before := run.Network.DeepCopy()
	run.Network.Finalizers, run.finalized = nil, true
	return outcome.TryAgain(c.client.Patch(ctx, run.Network, client.MergeFrom(before))).Unreported()
}

// answerMigration takes the annotation of the migration off.
func (c claims) answerMigration(ctx context.Context, run *run) outcome.Outcome {
	return outcome.TryAgain(answer(ctx, c.client, run.Network, extensionsv1alpha1.OperationMigrate)).Unreported()
}
