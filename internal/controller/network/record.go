// SPDX-License-Identifier: Apache-2.0

package network

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/internal/outcome"
)

// record makes the Network Trellis' own before anything is written for the shoot: it adds
// the finalizer, takes the operation annotation off, and reports Processing with the state.
// It does so although a gate may be closed, since gardenlet waits for an answer.
//
// A process that dies between the two requests must leave a Network that looks unfinished.
// One that has succeeded does not, so its status is written first. Any other does, and its
// status is written last, so that other controllers do not write to it meanwhile.
func (r *Reconciler) record(ctx context.Context, run *run) outcome.Outcome {
	if !run.writes() {
		return outcome.Continue()
	}
	run.state.PendingRequest = false
	reports := run.asked || run.refused == nil
	first := reports && succeeded(run.network)
	if first {
		if err := r.reportProcessing(ctx, run); err != nil {
			return outcome.TryAgain(err).Unreported()
		}
		if requestOf(run.network) != run.request {
			return outcome.TryAgain(outcome.ErrOvertaken)
		}
	}
	if err := r.takeOver(ctx, run); err != nil {
		return outcome.TryAgain(err).Unreported()
	}
	if reports && !first {
		if err := r.reportProcessing(ctx, run); err != nil {
			return outcome.TryAgain(err).Unreported()
		}
	}
	if run.refused != nil {
		return outcome.Fail(run.refused, corev1beta1.ErrorConfigurationProblem)
	}
	if run.isDeletingAwaited() {
		return r.awaitDeletion(run)
	}
	return outcome.Continue()
}

// takeOver adds the finalizer and takes the operation annotation off, in one request. The
// API server refuses it if the Network is not as it was read, because a newer request must
// not be taken off.
func (r *Reconciler) takeOver(ctx context.Context, run *run) error {
	before := run.network.DeepCopy()
	added := controllerutil.AddFinalizer(run.network, extensionsv1alpha1.NetworkFinalizer)
	if run.network.Annotations[extensionsv1alpha1.OperationAnnotation] == extensionsv1alpha1.OperationReconcile {
		delete(run.network.Annotations, extensionsv1alpha1.OperationAnnotation)
	} else if !added {
		return nil
	}
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	if err := r.client.Patch(ctx, run.network, patch); err != nil {
		run.network = before
		return fmt.Errorf("take the Network over: %w", err)
	}
	return nil
}
