// SPDX-License-Identifier: Apache-2.0

package network

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/internal/outcome"
)

// claims take Networks over and let them go: their finalizers, their operation annotations,
// and the reports that belong to these.
type claims struct {
	client client.Client
	status *statusWriter
}

// record makes the Network Trellis' own before anything is written for the shoot: it adds
// the finalizer, takes the operation annotation off, and reports Processing with the state.
// It does so although a gate may be closed, since gardenlet waits for an answer.
//
// A process that dies between the two requests must leave a Network that looks unfinished.
// One that has succeeded does not, so its status is written first. Any other does, and its
// status is written last, so that other controllers do not write to it meanwhile.
func (c claims) record(ctx context.Context, run *run) outcome.Outcome {
	if !run.writes() {
		return outcome.Continue()
	}
	run.State.PendingRequest = false
	reports := run.asksForOperation || run.refused == nil
	first := reports && run.Network.HasSucceeded()
	if first {
		if err := c.status.processing(ctx, run); err != nil {
			return outcome.TryAgain(err).Unreported()
		}
		if run.isOvertaken() {
			return outcome.TryAgain(outcome.ErrOvertaken)
		}
	}
	if err := c.takeOver(ctx, run); err != nil {
		return outcome.TryAgain(err).Unreported()
	}
	if reports && !first {
		if err := c.status.processing(ctx, run); err != nil {
			return outcome.TryAgain(err).Unreported()
		}
	}
	if run.refused != nil {
		return outcome.Fail(run.refused, corev1beta1.ErrorConfigurationProblem)
	}
	if run.awaitsDeletion {
		return awaitDeletion(run, c.status.clock.Now())
	}
	return outcome.Continue()
}

// takeOver adds the finalizer and takes the operation annotation off, in one request. The
// API server refuses it if the Network is not as it was read, because a newer request must
// not be taken off.
func (c claims) takeOver(ctx context.Context, run *run) error {
	before := run.Network.DeepCopy()
	added := controllerutil.AddFinalizer(run.Network, extensionsv1alpha1.NetworkFinalizer)
	if run.Network.Annotations[extensionsv1alpha1.OperationAnnotation] == extensionsv1alpha1.OperationReconcile {
		delete(run.Network.Annotations, extensionsv1alpha1.OperationAnnotation)
	} else if !added {
		return nil
	}
	base, next := patched(before, run.Network)
	patch, err := client.MergeFromWithOptions(base, client.MergeFromWithOptimisticLock{}).Data(next)
	if err == nil {
		err = c.client.Patch(ctx, run.Network, client.RawPatch(types.MergePatchType, patch))
	}
	if err != nil {
		run.Network = before
		return fmt.Errorf("take the Network over: %w", err)
	}
	return nil
}

// answer takes off the annotation of an operation, unless the Network asks for another one
// by now. A Network that is gone needs no answer.
func answer(ctx context.Context, c client.Client, n *extensionsv1alpha1.Network, operation string) error {
	if n.RequestedOperation() != operation {
		return nil
	}
	const path = "/metadata/annotations/gardener.cloud~1operation"
	patch := fmt.Appendf(nil, `[{"op":"test","path":%q,"value":%q},{"op":"remove","path":%q}]`, path, operation, path)
	err := c.Patch(ctx, n, client.RawPatch(types.JSONPatchType, patch))
	if apierrors.IsInvalid(err) {
		return outcome.ErrOvertaken
	}
	return client.IgnoreNotFound(err)
}

// answerRequest takes off a request to reconcile, although nothing follows from it (N34).
func (c claims) answerRequest(ctx context.Context, run *run) outcome.Outcome {
	return outcome.TryAgain(answer(ctx, c.client, run.Network, extensionsv1alpha1.OperationReconcile)).Unreported()
}

// checkFinalizer leaves a Network alone that others keep from going (N14).
func (c claims) checkFinalizer(_ context.Context, run *run) outcome.Outcome {
	if !controllerutil.ContainsFinalizer(run.Network, extensionsv1alpha1.NetworkFinalizer) {
		run.finalized = true
		return outcome.Finish()
	}
	return outcome.Continue()
}

// begin reports that the deletion or the migration began. An error of it stays until it
// has succeeded, since its cause may persist.
func (c claims) begin(ctx context.Context, run *run) outcome.Outcome {
	last := run.Network.Status.LastOperation
	if last != nil && last.Type == run.operation && (isProcessing(last) || last.State == corev1beta1.LastOperationStateError) {
		return outcome.Continue()
	}
	return outcome.TryAgain(c.status.processing(ctx, run)).Unreported()
}
